// Letters of ASCII, regardless of the locale.

#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/digits.hpp"
#include "base/utf8.hpp"

namespace limitree::server {

inline char lower(char byte) {
  return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a')
                                    : byte;
}

inline std::string lower(std::string_view text) {
  std::string made(text);
  for (char& byte : made) byte = lower(byte);
  return made;
}

inline std::string upper(std::string_view text) {
  std::string made(text);
  for (char& byte : made) {
    if (byte >= 'a' && byte <= 'z') byte = static_cast<char>(byte - 'a' + 'A');
  }
  return made;
}

// Whether `text` is `word`, which is in small letters, ignoring case.
inline bool is_word(std::string_view text, std::string_view word) {
  return std::ranges::equal(
      text, word, [](char byte, char small) { return lower(byte) == small; });
}

// `text` without the characters of `blanks` around it.
inline std::string_view trimmed(std::string_view text,
                                std::string_view blanks = " \t") {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

// Whether `text` may be the name of a header field.
inline bool is_field_name(std::string_view text) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char one) {
    return is_letter(one) || is_digit(one) || kOthers.find(one) != kOthers.npos;
  });
}

// -1 if it is none.
inline int hex_digit(char one) {
  if (one >= '0' && one <= '9') return one - '0';
  one = lower(one);
  return one >= 'a' && one <= 'f' ? one - 'a' + 10 : -1;
}

// Keeps the characters for which `is_plain` is true; every other byte becomes
// %XX.
template <typename IsPlain>
std::string percent_encoded(std::string_view text, const IsPlain& is_plain) {
  std::string encoded;
  encoded.reserve(text.size());
  for (const char one : text) {
    if (is_plain(one)) {
      encoded += one;
    } else {
      encoded += '%';
      append_hex(static_cast<unsigned char>(one), &encoded);
    }
  }
  return encoded;
}

}  // namespace limitree::server
