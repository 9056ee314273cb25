#include "base/http.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/utf8.hpp"

namespace limitree {

namespace {

constexpr std::string_view kEnd = "\r\n";

void append_field(std::string_view name, std::int64_t value, HttpText* text) {
  text->append(name);
  text->append(value);
  text->append(kEnd);
}

// Seconds for Retry-After; 0 if no wait helps or none is needed.
std::int64_t retry_after(const Decision& decision) {
  if (!decision.limited || decision.retry_after < Duration::zero() ||
      decision.retry_after == kNever) {
    return 0;
  }
  return std::max<std::int64_t>(1, ceil_seconds(decision.retry_after));
}

// The seconds until the binding limit is full again.
std::int64_t reset_of(const HttpAnswer& answer) {
  return ceil_seconds(answer.decision.binding_reset_after);
}

// Calls `one(level)` for each level that counts, with ", " between the texts.
template <typename One>
void append_list(const HttpAnswer& answer, HttpText* text, One&& one) {
  bool is_first = true;
  for (const HttpLevel& level : *answer.levels) {
    if (!counts(level.mode)) continue;
    if (!is_first) text->append(", ");
    is_first = false;
    one(level);
  }
}

bool has_counted(const HttpAnswer& answer) {
  return answer.levels &&
         std::ranges::any_of(*answer.levels, [](const HttpLevel& level) {
           return counts(level.mode);
         });
}

// A string of a structured field (RFC 9651): printable ASCII as it is, other
// bytes as %XX. In a policy `%` has that meaning already.
void append_quoted(std::string_view name, HttpText* text) {
  text->append('"');
  std::size_t plain = 0;  // where the bytes that need no escape begin
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char byte = name[i];
    const bool is_printable = byte >= ' ' && byte <= '~';
    if (is_printable && byte != '"' && byte != '\\') continue;
    text->append(name.substr(plain, i - plain));
    plain = i;
    if (is_printable) {
      text->append('\\');
      continue;
    }
    text->append('%');
    append_hex(static_cast<unsigned char>(byte), text);
    plain = i + 1;
  }
  text->append(name.substr(plain));
  text->append('"');
}

// ---- Styles ----------------------------------------------------------------

// Nothing for a limit of what is held at once.
void append_window(const HttpLevel& level, HttpText* text) {
  if (level.window == Duration::zero()) return;
  text->append(";w=");
  text->append(ceil_seconds(level.window));
}

void append_ietf(const HttpAnswer& answer, HttpText* text) {
  if (!has_counted(answer)) return;
  text->append("RateLimit-Policy: ");
  append_list(answer, text, [text](const HttpLevel& level) {
    append_quoted(level.policy, text);
    text->append(";q=");
    text->append(level.limit);
    const bool is_concurrent = level.window == Duration::zero();
    if (!level.unit.empty() && level.unit != kRequestUnit) {
      text->append(";qu=");
      append_quoted(level.unit, text);
    } else if (is_concurrent) {
      text->append(";qu=\"concurrent-requests\"");
    }
    append_window(level, text);
  });
  text->append("\r\nRateLimit: ");
  append_list(answer, text, [text](const HttpLevel& level) {
    append_quoted(level.policy, text);
    text->append(";r=");
    text->append(level.remaining);
    if (level.grows_after <= Duration::zero()) return;
    text->append(";t=");
    text->append(ceil_seconds(level.grows_after));
  });
  text->append(kEnd);
}

// RateLimit-Policy in the form of drafts 6 and 7.
void append_policies(const HttpAnswer& answer, HttpText* text) {
  if (!has_counted(answer)) return;
  text->append("RateLimit-Policy: ");
  append_list(answer, text, [text](const HttpLevel& level) {
    text->append(level.limit);
    append_window(level, text);
  });
  text->append(kEnd);
}

void append_draft_7(const HttpAnswer& answer, HttpText* text) {
  append_policies(answer, text);
  text->append("RateLimit: limit=");
  text->append(answer.decision.limit);
  text->append(", remaining=");
  text->append(answer.decision.remaining);
  append_field(", reset=", reset_of(answer), text);
}

void append_draft_6(const HttpAnswer& answer, HttpText* text) {
  append_policies(answer, text);
  append_field("RateLimit-Limit: ", answer.decision.limit, text);
  append_field("RateLimit-Remaining: ", answer.decision.remaining, text);
  append_field("RateLimit-Reset: ", reset_of(answer), text);
}

void append_legacy(const HttpAnswer& answer, HttpText* text) {
  append_field("X-RateLimit-Limit: ", answer.decision.limit, text);
  append_field("X-RateLimit-Remaining: ", answer.decision.remaining, text);
  append_field("X-RateLimit-Reset: ",
               ceil_seconds(saturating_add(Instant(answer.since_1970),
                                           answer.decision.binding_reset_after)
                                .time_since_epoch()),
               text);
}

// A style without headers has no Retry-After header either.
constexpr std::array kStyles = {
    HttpStyle{"ietf", true, append_ietf},
    HttpStyle{"draft-7", false, append_draft_7},
    HttpStyle{"draft-6", false, append_draft_6},
    HttpStyle{"legacy", false, append_legacy},
    HttpStyle{"none", false, nullptr},
};

// ---- JSON ------------------------------------------------------------------

void append_violated(std::span<const HttpLevel> levels, HttpText* text) {
  text->append(",\"violated-policies\":[");
  bool is_first = true;
  for (const HttpLevel& level : levels) {
    if (!counts(level.mode) || !level.limited) continue;
    if (!is_first) text->append(',');
    is_first = false;
    append_json(level.policy, text);
  }
  text->append(']');
}

}  // namespace

void HttpText::append(std::string_view text) {
  if (size_ < room_.size()) {
    const std::size_t fits = std::min(text.size(), room_.size() - size_);
    std::copy_n(text.begin(), fits,
                room_.begin() + static_cast<std::ptrdiff_t>(size_));
  }
  size_ += text.size();
}

void HttpText::append(std::int64_t number) {
  std::array<char, 20> digits;
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  append(std::string_view(digits.data(),
                          static_cast<std::size_t>(end - digits.data())));
}

std::span<const HttpStyle> http_styles() { return kStyles; }

void append_http_headers(const HttpStyle& style, const HttpAnswer& answer,
                         HttpText* text) {
  if (style.append == nullptr || answer.decision.unlimited) return;
  style.append(answer, text);
  const std::int64_t seconds = retry_after(answer.decision);
  if (seconds > 0) append_field("Retry-After: ", seconds, text);
}

void append_http_problem(const HttpAnswer& answer, std::int32_t status,
                         HttpText* text) {
  text->append(
      "{\"type\":\"https://iana.org/assignments/http-problem-types"
      "#quota-exceeded\",\"title\":\"Too Many Requests\",\"status\":");
  text->append(std::int64_t{status});
  text->append(",\"detail\":\"");
  const std::int64_t seconds = retry_after(answer.decision);
  if (seconds > 0) {
    text->append("Try again in ");
    text->append(seconds);
    text->append(" s.");
  } else {
    text->append("The request is larger than any limit on it allows.");
  }
  text->append('"');
  if (answer.levels) append_violated(*answer.levels, text);
  text->append('}');
}

}  // namespace limitree
