#include "trace/metric_exporter.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <utility>

#include "io/loop.hpp"
#include "trace/http_post.hpp"
#include "trace/metric_message.hpp"

namespace limitree::server {

namespace {

std::uint64_t unix_now() {
  const std::chrono::nanoseconds since =
      std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(since.count());
}

// The data of the thread.
class MetricExporter {
 public:
  MetricExporter(const MetricSettings& settings, std::string resource,
                 std::function<std::string()> read,
                 std::function<void(const std::string&)> say)
      : interval_(std::max(settings.interval, kMillisecond)),
        resource_(std::move(resource)),
        read_(std::move(read)),
        say_(std::move(say)),
        post_(make_http_post(settings)),
        begun_(unix_now()) {}

  void run(Background::Signal& signal) {
    Monotonic next = after(steady_now(), interval_);
    while (signal.wait_until(next)) {
      const PostResult result = send();
      // After a wait for the network, nobody may be listening any more.
      if (signal.is_ending()) return;
      tell(result);
      next = std::max(after(next, interval_), steady_now());
    }
    send();
  }

 private:
  PostResult send() {
    try {
      return post_(metrics_message(read_(), resource_, {begun_, unix_now()}));
    } catch (const std::exception& error) {
      return {false, false, error.what()};
    }
  }

  // Reports a change once.
  void tell(const PostResult& result) {
    if (result.done == works_) return;
    works_ = result.done;
    say_(works_ ? "metrics are sent again"
                : "cannot send metrics: " + result.trouble);
  }

  const Duration interval_;
  const std::string resource_;
  const std::function<std::string()> read_;
  const std::function<void(const std::string&)> say_;
  const HttpPost post_;
  const std::uint64_t begun_;  // what is counted, in nanoseconds since 1970
  bool works_ = true;
};

}  // namespace

std::unique_ptr<Background> export_metrics(
    const MetricSettings& settings, std::string resource,
    std::function<std::string()> read,
    std::function<void(const std::string&)> say) {
  check_otlp(settings);
  const auto exporter = std::make_shared<MetricExporter>(
      settings, std::move(resource), std::move(read), std::move(say));
  return std::make_unique<Background>(
      [exporter](Background::Signal& signal) { exporter->run(signal); });
}

}  // namespace limitree::server
