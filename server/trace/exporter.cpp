#include "trace/exporter.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <utility>

#include "io/loop.hpp"
#include "trace/http_post.hpp"
#include "trace/otlp.hpp"

namespace limitree::server {

namespace {

constexpr std::size_t kMaxBatch = 512;
constexpr Duration kInterval = kOneSecond;
constexpr Duration kMaxBackoff = 30 * kOneSecond;
constexpr int kMaxAttempts = 6;  // for a batch

// Add this to steady_now() to get the time since 1970.
Duration to_unix() {
  return std::chrono::system_clock::now().time_since_epoch() -
         steady_now().time_since_epoch();
}

}  // namespace

// The data of the thread.
class SpanExporter::Work {
 public:
  Work(const TraceSettings& settings, OtlpWriter writer,
       std::vector<std::shared_ptr<Tracer>> tracers,
       std::function<void(const std::string&)> say)
      : post_(make_http_post(settings)),
        writer_(std::move(writer)),
        tracers_(std::move(tracers)),
        say_(std::move(say)) {
    batch_.reserve(kMaxBatch);
  }

  void run(Background::Signal& signal) {
    while (signal.wait_until(after(steady_now(), kInterval))) {
      if (steady_now() < next_attempt_) continue;
      while (collect() && send(signal) && !signal.is_ending()) {
      }
    }
    while (collect() && send(signal)) {
    }
  }

  std::uint64_t lost() const { return lost_; }

 private:
  // Whether there is anything to send.
  bool collect() {
    Span span;
    for (const std::shared_ptr<Tracer>& tracer : tracers_) {
      while (batch_.size() < kMaxBatch && tracer->queue()->take(&span)) {
        batch_.push_back(span);
      }
    }
    return !batch_.empty();
  }

  bool send(Background::Signal& signal) {
    const PostResult result = post();
    // Nobody may be listening any more.
    if (!signal.is_ending()) tell(result);
    if (result.done) {
      attempts_ = 0;
      pause_ = Duration::zero();
      batch_.clear();
      return true;
    }
    pause_ = std::clamp(2 * pause_, kOneSecond, kMaxBackoff);
    next_attempt_ = after(steady_now(), pause_);
    if (!result.again || ++attempts_ == kMaxAttempts) {
      lost_ += batch_.size();
      attempts_ = 0;
      batch_.clear();
    }
    return false;
  }

  PostResult post() {
    try {
      return post_(writer_.write(batch_, to_unix()));
    } catch (const std::exception& error) {
      return {false, false, error.what()};
    }
  }

  // Reports a change once.
  void tell(const PostResult& result) {
    if (result.done == works_) return;
    works_ = result.done;
    say_(works_ ? "spans are sent again"
                : "cannot send spans: " + result.trouble);
  }

  const HttpPost post_;
  const OtlpWriter writer_;
  const std::vector<std::shared_ptr<Tracer>> tracers_;
  const std::function<void(const std::string&)> say_;
  std::vector<Span> batch_;
  int attempts_ = 0;
  Duration pause_{};
  Monotonic next_attempt_{};
  bool works_ = true;
  std::atomic<std::uint64_t> lost_{0};
};

SpanExporter::SpanExporter(const TraceSettings& settings,
                           std::function<void(const std::string&)> say)
    : settings_(settings), say_(std::move(say)) {
  check_trace(settings_);
}

SpanExporter::~SpanExporter() = default;

std::shared_ptr<Tracer> SpanExporter::make_tracer() {
  tracers_.push_back(std::make_shared<Tracer>(settings_.sampling_rate, [this] {
    if (thread_ != nullptr) thread_->wake();
  }));
  return tracers_.back();
}

void SpanExporter::start(const std::vector<std::string>& operations) {
  work_ = std::make_shared<Work>(settings_, OtlpWriter(settings_, operations),
                                 tracers_, say_);
  thread_ = std::make_unique<Background>(
      [work = work_](Background::Signal& signal) { work->run(signal); });
}

std::uint64_t SpanExporter::lost() const {
  std::uint64_t sum = work_ == nullptr ? 0 : work_->lost();
  for (const auto& tracer : tracers_) sum += tracer->lost();
  return sum;
}

}  // namespace limitree::server
