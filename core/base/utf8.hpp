// UTF-8, and texts as strings of JSON.

#pragma once

#include <cstddef>
#include <string_view>

namespace limitree {

// Returns the size of the first character of `text`, 1 to 4 bytes.  Returns 0
// if `text` is empty or does not begin with UTF-8 (surrogates, overlong forms
// and code points above U+10FFFF are not UTF-8).
inline std::size_t utf8_size(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  // The second byte shows overlong forms, surrogates and code points that are
  // too large.
  const unsigned least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned greatest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < least || byte(1) > greatest) return 0;
  const std::size_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  for (std::size_t i = 2; i < size; ++i) {
    if (byte(i) >> 6 != 2) return 0;
  }
  return size;
}

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
  // The size of the first character; 0 if it needs an escape.
  const auto plain_size = [](std::string_view from) -> std::size_t {
    const std::size_t size = utf8_size(from);
    if (size != 1) return size;
    const char byte = from[0];
    return byte >= ' ' && byte != '"' && byte != '\\' && byte != '\x7f';
  };
  text->append("\""sv);
  while (!value.empty()) {
    std::string_view rest = value;
    while (const std::size_t size = plain_size(rest)) rest.remove_prefix(size);
    text->append(value.substr(0, value.size() - rest.size()));
    value = rest;
    if (value.empty()) break;
    const auto byte = static_cast<unsigned char>(value[0]);
    if (byte >= 0x80) {
      text->append("\\ufffd"sv);
    } else if (byte == '"' || byte == '\\') {
      text->append("\\"sv);
      text->append(value.substr(0, 1));
    } else {
      text->append("\\u00"sv);
      append_hex(byte, text, "0123456789abcdef");
    }
    value.remove_prefix(1);
  }
  text->append("\""sv);
}

}  // namespace limitree
