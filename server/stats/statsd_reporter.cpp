#include "stats/statsd_reporter.hpp"

#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>

#include "io/loop.hpp"
#include "stats/statsd_socket.hpp"
#include "stats/statsd_text.hpp"

namespace limitree::server {

namespace {

// A datagram of this size passes all common networks in one piece.
constexpr std::size_t kMaxDatagram = 1432;
constexpr std::size_t kMaxPiece = 64 * 1024;

StatsProtocol protocol_of(const StatsSettings& settings) {
  return settings.format == StatsFormat::kDogStatsd ? StatsProtocol::kUdp
                                                    : settings.protocol;
}

// What the thread does, and its data.
class StatsdReporter {
 public:
  StatsdReporter(const StatsSettings& settings, std::function<Snapshot()> read,
                 std::function<void(const std::string&)> say,
                 std::shared_ptr<std::atomic<std::uint64_t>> lost)
      : interval_(std::max(settings.flush_interval, kMillisecond)),
        read_(std::move(read)),
        say_(std::move(say)),
        lost_(std::move(lost)),
        text_(settings),
        socket_(protocol_of(settings), {settings.host, settings.port}),
        max_piece_(protocol_of(settings) == StatsProtocol::kUdp ? kMaxDatagram
                                                                : kMaxPiece) {}

  void run(Background::Signal& signal) {
    Monotonic next = after(steady_now(), interval_);
    while (signal.wait_until(next)) {
      const std::string trouble = flush();
      // After a wait for the network, nobody may be listening any more.
      if (signal.is_ending()) return;
      tell(trouble);
      next = std::max(after(next, interval_), steady_now());
    }
    flush();
  }

 private:
  // What went wrong, if anything.
  std::string flush() {
    try {
      Snapshot now = read_();
      if (!socket_.open()) return socket_.trouble();
      failed_ = false;
      // If there is no memory in the middle, some counts have been sent: those
      // that have not are better missing than the others there twice.
      const Snapshot difference = now.since(sent_);
      sent_ = std::move(now);
      text_.write(difference, [this](std::string_view line) { take(line); });
      send();
      socket_.finish();
      return failed_ ? socket_.trouble() : "";
    } catch (const std::exception& error) {
      return error.what();
    }
  }

  void take(std::string_view line) {
    if (piece_.size() + line.size() > max_piece_) send();
    if (line.size() > max_piece_) {
      ++*lost_;
    } else {
      piece_ += line;
      ++lines_;
    }
  }

  void send() {
    if (!piece_.empty() && !socket_.send(piece_)) {
      failed_ = true;
      *lost_ += lines_;
    }
    piece_.clear();
    lines_ = 0;
  }

  // Reports a change of `trouble` once.
  void tell(const std::string& trouble) {
    if (trouble.empty() == works_) return;
    works_ = trouble.empty();
    say_(works_ ? "the statistics are sent again"
                : "cannot send statistics: " + trouble);
  }

  const Duration interval_;
  const std::function<Snapshot()> read_;
  const std::function<void(const std::string&)> say_;
  const std::shared_ptr<std::atomic<std::uint64_t>> lost_;
  const StatsdText text_;
  StatsdSocket socket_;
  const std::size_t max_piece_;
  std::string piece_;      // lines to be sent together
  std::size_t lines_ = 0;  // in it
  Snapshot sent_;
  bool failed_ = false;  // while sending
  bool works_ = true;
};

}  // namespace

std::unique_ptr<Background> report_to_statsd(
    const StatsSettings& settings, std::function<Snapshot()> read,
    std::function<void(const std::string&)> say,
    std::shared_ptr<std::atomic<std::uint64_t>> lost) {
  const auto reporter = std::make_shared<StatsdReporter>(
      settings, std::move(read), std::move(say), std::move(lost));
  return std::make_unique<Background>(
      [reporter](Background::Signal& signal) { reporter->run(signal); });
}

}  // namespace limitree::server
