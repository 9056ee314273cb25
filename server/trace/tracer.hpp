// Decides which requests of a worker are recorded, and passes their spans to
// the exporter.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "io/timer.hpp"
#include "stats/histogram.hpp"
#include "trace/context.hpp"

namespace limitree::server {

// One request of a trace.
struct Span {
  TraceId trace_id;
  SpanId span_id;
  SpanId parent_id;  // 0 if the trace begins here
  Monotonic begun;
  Monotonic ended;
  std::uint16_t operation;  // its number
  std::uint16_t status;     // of gRPC or HTTP; 0 in HTTP: no answer
};

// One thread puts spans in, another takes them out; neither waits.
class SpanQueue {
 public:
  static constexpr std::size_t kCapacity = 4096;

  // False if there is no room.
  bool put(const Span& span) {
    const std::size_t end = end_.load(std::memory_order_relaxed);
    if (end - begin_.load(std::memory_order_acquire) == kCapacity) return false;
    spans_[end % kCapacity] = span;
    end_.store(end + 1, std::memory_order_release);
    return true;
  }

  // False if there is none.
  bool take(Span* span) {
    const std::size_t begin = begin_.load(std::memory_order_relaxed);
    if (begin == end_.load(std::memory_order_acquire)) return false;
    *span = spans_[begin % kCapacity];
    begin_.store(begin + 1, std::memory_order_release);
    return true;
  }

  // For the thread that puts spans in.
  std::size_t size() const {
    return end_.load(std::memory_order_relaxed) -
           begin_.load(std::memory_order_relaxed);
  }

 private:
  const std::unique_ptr<Span[]> spans_ =
      std::make_unique_for_overwrite<Span[]>(kCapacity);
  alignas(64) std::atomic<std::size_t> end_{0};
  alignas(64) std::atomic<std::size_t> begin_{0};
};

// Random bytes of the system, many at a time.
class RandomBytes {
 public:
  void fill(std::span<std::uint8_t> to);

 private:
  std::array<std::uint8_t, 4096> bytes_;
  std::size_t used_ = sizeof bytes_;
};

// Belongs to the thread of one worker.
class Tracer {
 public:
  // `wake` asks somebody to empty the queue.
  Tracer(double sampling_rate, std::function<void()> wake)
      : sampling_rate_(sampling_rate), wake_(std::move(wake)) {}

  // A request was answered now.  Records it if the sender records it; if the
  // sender says nothing, the trace ID decides.  `span` has the times, the
  // operation and the status.
  void record(const TraceContext& parent, Span span);

  // For the thread of the exporter.
  SpanQueue* queue() { return &queue_; }
  // The number of spans for which there was no room.  From any thread.
  std::uint64_t lost() const { return lost_.get(); }

 private:
  bool is_sampled(const TraceContext& parent, const TraceId& trace) const;

  const double sampling_rate_;
  const std::function<void()> wake_;
  RandomBytes random_;
  SpanQueue queue_;
  Counter lost_;
};

}  // namespace limitree::server
