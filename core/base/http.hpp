// What an HTTP response says about a decision: header fields, in one of several
// styles, and the body of a denial.
//
// The text goes to a buffer of the caller, because each response needs it.
// Seconds are rounded up: a client that waits that long is not denied for the
// same reason again. docs/http.md describes the styles in the table of
// http.cpp.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/decision.hpp"
#include "base/limit.hpp"
#include "base/time.hpp"

namespace limitree {

// One limit that the request met.
struct HttpLevel {
  std::string_view policy;  // its place in the tree: "user:*/trade"
  std::int64_t limit;       // capacity
  std::int64_t remaining;
  Duration window;       // in which an empty bucket fills; see window_of()
  Duration grows_after;  // until `remaining` is larger; zero: it is full
  Mode mode;             // levels that do not count are left out
  bool limited;
  std::string_view unit = {};  // what it counts; empty: kRequestUnit
};

// The decision that a response reports.
struct HttpAnswer {
  const Decision& decision;
  std::optional<std::span<const HttpLevel>> levels;  // none: not known
  // The time of the decision.  If set, the reset of the style "legacy" is in
  // seconds since 1970.  The drafts have no such dates.
  Duration since_1970 = Duration::zero();
};

// A buffer that also counts the bytes that do not fit.
class HttpText {
 public:
  explicit HttpText(std::span<char> room) : room_(room) {}

  void append(std::string_view text);
  void append(char byte) { append(std::string_view(&byte, 1)); }
  void append(std::int64_t number);

  std::size_t size() const { return size_; }

 private:
  const std::span<char> room_;
  std::size_t size_ = 0;
};

struct HttpStyle {
  const char* name;
  // The style names every limit, so it needs the levels of the decision.
  bool needs_levels;
  void (*append)(const HttpAnswer& answer, HttpText* text);
};

// All styles.
std::span<const HttpStyle> http_styles();

// Appends the header fields as in HTTP/1.1, each with CR and LF at its end: the
// fields of `style`, then Retry-After if a wait helps.  Appends nothing if
// there is no limit.
// REQUIRES: answer.levels, if style.needs_levels.
void append_http_headers(const HttpStyle& style, const HttpAnswer& answer,
                         HttpText* text);

// Appends the members of application/problem+json as one JSON object.  Lists
// the policies that denied the request, if the levels are known.
// REQUIRES: answer.decision.limited.
void append_http_problem(const HttpAnswer& answer, std::int32_t status,
                         HttpText* text);

}  // namespace limitree
