// Which requests of a worker are recorded.

#ifndef LIMITREE_SERVER_TRACE_TRACER_HPP
#define LIMITREE_SERVER_TRACE_TRACER_HPP

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "stats/counter.hpp"
#include "trace/context.hpp"
#include "trace/span.hpp"

namespace limitree::server {

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

  // A request was answered now.  Records it if the sender records it, or, if
  // that says nothing, by the number of the trace.  `span` has the times, the
  // operation and the status.
  void record(const TraceContext& parent, Span span);

  // For the thread of the exporter.
  SpanQueue* queue() { return &queue_; }
  // From any thread: spans for which there was no room.
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

#endif  // LIMITREE_SERVER_TRACE_TRACER_HPP
