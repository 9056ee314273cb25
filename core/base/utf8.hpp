// UTF-8, as far as limits.yaml and bucket names need it, and texts as strings
// of JSON.

#ifndef LIMITREE_BASE_UTF8_HPP
#define LIMITREE_BASE_UTF8_HPP

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace limitree {

// Returns the size of the first character of `text`, 1 to 4 bytes.  Returns 0
// if `text` is empty or does not begin with UTF-8 (surrogates, overlong forms
// and code points above U+10FFFF are not UTF-8).
std::size_t utf8_size(std::string_view text);

// Appends `byte` as two of these hexadecimal digits.  `Text` is a std::string,
// or like it.
template <typename Text>
void append_hex(unsigned char byte, Text* text,
                std::string_view digits = "0123456789ABCDEF") {
  text->append(digits.substr(byte >> 4, 1));
  text->append(digits.substr(byte & 15, 1));
}

// Appends `value` as a string of JSON; bytes that are not UTF-8 become U+FFFD.
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
      text->append("\\u00"sv);
      append_hex(static_cast<unsigned char>(byte), text, "0123456789abcdef");
    } else {
      text->append(value.substr(0, size));
    }
    value.remove_prefix(std::max<std::size_t>(size, 1));
  }
  text->append("\""sv);
}

}  // namespace limitree

#endif  // LIMITREE_BASE_UTF8_HPP
