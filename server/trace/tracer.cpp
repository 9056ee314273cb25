#include "trace/tracer.hpp"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "io/failure.hpp"

namespace limitree::server {

void RandomBytes::fill(std::span<std::uint8_t> to) {
  if (bytes_.size() - used_ < to.size()) {
    std::size_t filled = 0;
    while (filled < bytes_.size()) {
      const ssize_t size =
          getrandom(bytes_.data() + filled, bytes_.size() - filled, 0);
      if (size < 0 && errno != EINTR) throw Failure("random numbers", errno);
      filled += static_cast<std::size_t>(std::max<ssize_t>(size, 0));
    }
    used_ = 0;
  }
  std::memcpy(to.data(), bytes_.data() + used_, to.size());
  used_ += to.size();
}

// Decides by the last bytes of the trace ID, so that all services of the trace
// can decide the same.
bool Tracer::is_sampled(const TraceContext& parent,
                        const TraceId& trace) const {
  if (parent.sampling != Sampling::kUndecided) {
    return parent.sampling == Sampling::kYes;
  }
  if (sampling_rate_ >= 1) return true;
  std::uint64_t low = 0;
  for (std::size_t i = 8; i < trace.size(); ++i) low = low << 8 | trace[i];
  constexpr double kAll = 9223372036854775808.0;  // 2^63
  return static_cast<double>(low >> 1) < sampling_rate_ * kAll;
}

void Tracer::record(const TraceContext& parent, Span span) {
  if (parent.sampling == Sampling::kNo) return;
  span.trace_id = parent.trace_id;
  span.parent_id = parent.span_id;
  if (!parent.has_trace()) random_.fill(span.trace_id);
  if (!is_sampled(parent, span.trace_id)) return;
  random_.fill(span.span_id);
  if (!queue_.put(span)) lost_.add();
  if (queue_.size() == SpanQueue::kCapacity / 2) wake_();
}

}  // namespace limitree::server
