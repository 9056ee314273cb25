// Texts as strings of JSON.

#ifndef LIMITREE_BASE_JSON_HPP
#define LIMITREE_BASE_JSON_HPP

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/utf8.hpp"

namespace limitree {

// Appends `value` as a string of JSON; bytes that are not UTF-8 become U+FFFD.
// `Text` is a std::string, or like it.
template <typename Text>
void append_json(std::string_view value, Text* text) {
  using std::string_view_literals::operator""sv;
  text->append("\""sv);
  while (!value.empty()) {
    const std::size_t size = utf8_size(value);
    const char byte = value[0];
    if (size == 0) {
      text->append("\\ufffd"sv);
    } else if (byte == '"' || byte == '\\') {
      text->append("\\"sv);
      text->append(value.substr(0, 1));
    } else if (byte >= '\0' && byte < ' ') {
      constexpr std::string_view kDigits = "0123456789abcdef";
      text->append("\\u00"sv);
      text->append(kDigits.substr(static_cast<std::size_t>(byte >> 4), 1));
      text->append(kDigits.substr(static_cast<std::size_t>(byte & 15), 1));
    } else {
      text->append(value.substr(0, size));
    }
    value.remove_prefix(std::max<std::size_t>(size, 1));
  }
  text->append("\""sv);
}

}  // namespace limitree

#endif  // LIMITREE_BASE_JSON_HPP
