// One request of a trace, and the way of spans from a worker to the exporter.

#ifndef LIMITREE_SERVER_TRACE_SPAN_HPP
#define LIMITREE_SERVER_TRACE_SPAN_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "io/timer.hpp"
#include "trace/context.hpp"

namespace limitree::server {

struct Span {
  TraceId trace_id;
  SpanId span_id;
  SpanId parent_id;  // 0 if the trace begins here
  Instant begun;
  Instant ended;
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

  // For the thread that puts.
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

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_TRACE_SPAN_HPP
