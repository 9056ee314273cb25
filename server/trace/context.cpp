#include "trace/context.hpp"

#include <cstddef>
#include <span>

#include "net/text.hpp"

namespace limitree::server {

namespace {

// Fills the end of `bytes`; the rest stays 0.  False if `text` is not
// hexadecimal or has too many digits.  Some senders of B3 use capital letters;
// W3C forbids them.
bool parse_hex(std::string_view text, bool allows_capitals,
               std::span<std::uint8_t> bytes) {
  if (text.size() % 2 != 0 || text.size() / 2 > bytes.size()) return false;
  if (!allows_capitals && lower(text) != text) return false;
  std::size_t at = bytes.size() - text.size() / 2;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = hex_digit(text[i]);
    const int low = hex_digit(text[i + 1]);
    if (high < 0 || low < 0) return false;
    bytes[at++] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return true;
}

bool parse_b3_trace(std::string_view text, TraceId* id) {
  return (text.size() == 32 || text.size() == 16) && parse_hex(text, true, *id);
}

bool parse_b3_span(std::string_view text, SpanId* id) {
  return text.size() == 16 && parse_hex(text, true, *id);
}

Sampling parse_b3_sampling(std::string_view text) {
  // "d": for debugging.
  if (text == "1" || text == "d" || text == "true") return Sampling::kYes;
  if (text == "0" || text == "false") return Sampling::kNo;
  return Sampling::kUndecided;
}

bool is_valid(const TraceContext& context) {
  return context.has_trace() && context.span_id != SpanId{};
}

}  // namespace

TraceContext parse_traceparent(std::string_view text) {
  // 00-{32 digits}-{16 digits}-{2 digits}; later versions may add "-...".
  constexpr std::size_t kSize = 55;
  std::array<std::uint8_t, 1> version;
  std::array<std::uint8_t, 1> flags;
  TraceContext context;
  if (text.size() < kSize || text[2] != '-' || text[35] != '-' ||
      text[52] != '-' || !parse_hex(text.substr(0, 2), false, version) ||
      !parse_hex(text.substr(3, 32), false, context.trace_id) ||
      !parse_hex(text.substr(36, 16), false, context.span_id) ||
      !parse_hex(text.substr(53, 2), false, flags)) {
    return {};
  }
  const bool is_longer = text.size() > kSize;
  if (version[0] == 0xFF || (version[0] == 0 && is_longer) ||
      (is_longer && text[kSize] != '-') || !is_valid(context)) {
    return {};
  }
  context.sampling = (flags[0] & 1) != 0 ? Sampling::kYes : Sampling::kNo;
  return context;
}

TraceContext parse_b3(std::string_view text) {
  TraceContext context;
  const std::size_t first = text.find('-');
  if (first == text.npos) {
    context.sampling = parse_b3_sampling(text);
    return context;
  }
  const std::string_view rest = text.substr(first + 1);
  const std::size_t second = rest.find('-');
  if (!parse_b3_trace(text.substr(0, first), &context.trace_id) ||
      !parse_b3_span(rest.substr(0, second), &context.span_id) ||
      !is_valid(context)) {
    return {};
  }
  if (second != rest.npos) {
    const std::string_view state = rest.substr(second + 1);
    context.sampling = parse_b3_sampling(state.substr(0, state.find('-')));
  }
  return context;
}

void TraceFields::take(std::string_view name, std::string_view value) {
  if (name == "traceparent") {
    // Two such fields count as none.
    w3c_ = has_w3c_ ? TraceContext{} : parse_traceparent(value);
    has_w3c_ = true;
  } else if (name == "b3") {
    b3_ = parse_b3(value);
  } else if (name.starts_with("x-b3-")) {
    take_b3_part(name.substr(5), value);
  }
}

void TraceFields::take_b3_part(std::string_view part, std::string_view value) {
  if (part == "traceid") {
    if (!parse_b3_trace(value, &b3_parts_.trace_id)) b3_parts_.trace_id = {};
  } else if (part == "spanid") {
    if (!parse_b3_span(value, &b3_parts_.span_id)) b3_parts_.span_id = {};
  } else if (part == "flags") {
    if (value == "1") b3_parts_.sampling = Sampling::kYes;
  } else if (part == "sampled") {
    // Flags that ask for debugging take precedence.
    if (b3_parts_.sampling != Sampling::kYes) {
      b3_parts_.sampling = parse_b3_sampling(value);
    }
  }
}

TraceContext TraceFields::context() const {
  if (w3c_.has_trace()) return w3c_;
  if (b3_ != TraceContext{}) return b3_;
  if (is_valid(b3_parts_)) return b3_parts_;
  return {{}, {}, b3_parts_.sampling};
}

}  // namespace limitree::server
