#include "stats/statsd_reporter.hpp"

#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include "io/dialer.hpp"
#include "io/failure.hpp"
#include "io/fd.hpp"
#include "io/loop.hpp"
#include "stats/statsd_text.hpp"

namespace limitree::server {

namespace {

// A datagram of this size passes all common networks in one piece.
constexpr std::size_t kMaxDatagram = 1432;
constexpr std::size_t kMaxPiece = 64 * 1024;

constexpr Duration kTimeout = kOneSecond;
constexpr Duration kFirstPause = kOneSecond;
constexpr Duration kLongestPause = 30 * kOneSecond;

StatsProtocol protocol_of(const StatsSettings& settings) {
  return settings.format == StatsFormat::kDogStatsd ? StatsProtocol::kUdp
                                                    : settings.protocol;
}

// The connection to a server of StatsD.  For a thread that may block: looking
// up a name may take any time, and everything else takes at most a second.
class StatsdSocket {
 public:
  StatsdSocket(StatsProtocol protocol, Endpoint server);

  // Whether lines can be sent.  Connects if there is no connection; if that
  // fails, the next attempts wait for longer and longer, up to 30 seconds.
  bool open();

  // Sends whole lines, over UDP as one datagram.  False if they are lost; the
  // connection is closed then.
  bool send(std::string_view lines);

  // Ends what open() began.  A connection over TCP stays.
  void finish();

  // "localhost:8125: connection refused", if the last call failed.
  const std::string& trouble() const { return trouble_; }

 private:
  bool connect();
  bool connect_to(const SocketAddress& address);
  bool is_connected();
  void fail(const std::string& why, bool closes = true);
  int type() const {
    return protocol_ == StatsProtocol::kTcp ? SOCK_STREAM : SOCK_DGRAM;
  }

  const StatsProtocol protocol_;
  const Endpoint server_;
  Fd fd_;
  std::string trouble_;
  Duration pause_{};  // after the next failure, unless it is the first
  Monotonic next_attempt_{};
};

StatsdSocket::StatsdSocket(StatsProtocol protocol, Endpoint server)
    : protocol_(protocol), server_(std::move(server)) {}

void StatsdSocket::fail(const std::string& why, bool closes) {
  trouble_ = server_.text() + ": " + why;
  if (closes) fd_.reset();
}

bool StatsdSocket::open() {
  if (is_connected()) return true;
  if (steady_now() < next_attempt_) return false;
  if (connect()) {
    pause_ = Duration::zero();
    return true;
  }
  pause_ = std::clamp(2 * pause_, kFirstPause, kLongestPause);
  next_attempt_ = after(steady_now(), pause_);
  return false;
}

// A server that has closed its side would not read what is sent.
bool StatsdSocket::is_connected() {
  if (!fd_) return false;
  char ignored[256];
  ssize_t size = 0;
  while ((size = recv(fd_.get(), ignored, sizeof ignored, MSG_DONTWAIT)) > 0) {
  }
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  fail(size == 0 ? "the server has closed the connection" : error_text(errno));
  return false;
}

bool StatsdSocket::connect() {
  std::vector<SocketAddress> addresses;
  const std::string why = look_up(server_, type(), 0, &addresses);
  if (!why.empty()) fail(why);
  return std::ranges::any_of(addresses, [this](const SocketAddress& address) {
    return connect_to(address);
  });
}

bool StatsdSocket::connect_to(const SocketAddress& address) {
  fd_ = Fd(socket(address.bytes.ss_family, type() | SOCK_CLOEXEC, 0));
  const timeval timeout{kTimeout / kOneSecond, 0};
  // The timeout also applies to connect().
  if (fd_ &&
      setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout,
                 sizeof timeout) == 0 &&
      ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address.bytes),
                address.size) == 0) {
    return true;
  }
  fail(error_text(errno == EINPROGRESS ? ETIMEDOUT : errno));
  return false;
}

bool StatsdSocket::send(std::string_view lines) {
  if (!fd_) return false;
  const bool is_tcp = protocol_ == StatsProtocol::kTcp;
  const ssize_t size = ::send(fd_.get(), lines.data(), lines.size(),
                              MSG_NOSIGNAL | (is_tcp ? 0 : MSG_DONTWAIT));
  if (size == static_cast<ssize_t>(lines.size())) return true;
  // A part was sent before the timeout.  Over UDP the socket stays, because
  // each datagram may still arrive.
  fail(error_text(size >= 0 || errno == EAGAIN ? ETIMEDOUT : errno), is_tcp);
  return false;
}

// The name of a server of UDP is looked up each time: no error says that it has
// moved.
void StatsdSocket::finish() {
  if (protocol_ == StatsProtocol::kUdp) fd_.reset();
}

// What the thread does, and its data.
class StatsdReporter {
 public:
  StatsdReporter(const StatsSettings& settings, std::function<Snapshot()> read,
                 std::function<void(const std::string&)> say,
                 std::shared_ptr<std::atomic<std::uint64_t>> lost)
      : read_(std::move(read)),
        say_(std::move(say)),
        lost_(std::move(lost)),
        text_(settings),
        socket_(protocol_of(settings), {settings.host, settings.port}),
        max_piece_(protocol_of(settings) == StatsProtocol::kUdp ? kMaxDatagram
                                                                : kMaxPiece) {}

  void run(Background::Signal& signal) {
    const std::string trouble = flush();
    // After a wait for the network, nobody may be listening any more.
    if (!signal.is_ending()) tell(trouble);
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
  return run_each(
      settings.flush_interval,
      [reporter](Background::Signal& signal) { reporter->run(signal); });
}

}  // namespace limitree::server
