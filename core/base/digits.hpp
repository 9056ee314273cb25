// Letters and digits of ASCII, and whole texts as numbers.

#pragma once

#include <charconv>
#include <string_view>
#include <system_error>

namespace limitree {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Whether all of `text` is a number that fits into *number, which gets it.
// `format` is a base, or the form of a floating-point number.
template <typename Number, typename... Format>
bool read_digits(std::string_view text, Number* number, Format... format) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] =
      std::from_chars(text.data(), end, *number, format...);
  return error == std::errc() && stop == end;
}

}  // namespace limitree
