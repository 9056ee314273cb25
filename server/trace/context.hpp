// Which trace a request belongs to, from the fields of its header: W3C's
// `traceparent`, or those of B3.

#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace limitree::server {

using TraceId = std::array<std::uint8_t, 16>;
using SpanId = std::array<std::uint8_t, 8>;

// What the sender of a request says about recording it.
enum class Sampling : std::uint8_t { kUndecided, kNo, kYes };

struct TraceContext {
  TraceId trace_id{};  // 0 if there is none
  SpanId span_id{};    // of the sender
  Sampling sampling = Sampling::kUndecided;

  bool has_trace() const { return trace_id != TraceId{}; }
  bool operator==(const TraceContext&) const = default;
};

// Nothing if the text is not valid.
TraceContext parse_traceparent(std::string_view text);

// The field `b3`: {trace}-{span}-{sampling}-{parent}, in which the last two may
// be missing, or a sampling alone.
TraceContext parse_b3(std::string_view text);

// Collects the fields of one request.
class TraceFields {
 public:
  // Ignores all other fields.
  void take(std::string_view name, std::string_view value);

  // The trace that the fields name: traceparent takes precedence over b3, and
  // b3 over X-B3-TraceId and the like.
  TraceContext context() const;

 private:
  void take_b3_part(std::string_view part, std::string_view value);

  TraceContext w3c_;
  TraceContext b3_;
  TraceContext b3_parts_;
  bool has_w3c_ = false;
};

}  // namespace limitree::server
