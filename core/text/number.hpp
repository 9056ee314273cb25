// Numbers and durations in text.  Accepts only forms that cannot be misread.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/digits.hpp"
#include "base/status.hpp"
#include "base/time.hpp"

namespace limitree {

// Reads 0 or [-]digits without a leading zero.  The message of an error follows
// the name of the number: "must be a whole number, ...".
Result<std::int64_t> parse_integer(std::string_view text);

// The same for a number of at least `least`, which is 0 or 1, and at most
// `most`.
Result<std::int64_t> parse_integer(std::string_view text, std::int64_t least,
                                   std::int64_t most = INT64_MAX);

// Reads "500ms", "1.5h", "1d12h", "5 minutes", "day", "s", or a number of
// seconds: "15" or "0.5".  Words may be in any case.  A month has 30 days, and
// a year 360.  Zero and negative durations are allowed.  Errors as above.
Result<Duration> parse_duration(std::string_view text);

// The same for a duration that must be greater than 0.
Result<Duration> parse_period(std::string_view text);

// Reads a duration in the format of Go: "180m", "1h30m0s", "1.5h", "0". Returns
// nothing if `text` is not one, is negative, or is longer than 292 years.
// Drops fractions of a nanosecond.
std::optional<Duration> parse_go_duration(std::string_view text);

// Whether a duration is written as one month: "month", "1 month".
bool is_one_month(std::string_view text);

// The shortest text for exactly `time`: "1m", "90s", "1.5s", "8571us".
std::string format_duration(Duration time);

// Seconds without rounding, as labels of metrics have them: "0.000016".
std::string seconds_text(Duration time);

// The form in which the command line shows times: "1.5s", "2m30s", "3d4h".  For
// people only.  REQUIRES: time > 0.
std::string spoken_duration(Duration time);

// Whether `c` is a blank.
constexpr bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// A ... Z as a ... z, and all else as it is.
constexpr char lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
std::string lower_case(std::string_view text);

// `text` without the blanks around it.
std::string_view trim(std::string_view text);

}  // namespace limitree
