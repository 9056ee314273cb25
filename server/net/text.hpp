// Characters of UTF-8 and letters of ASCII, regardless of the locale.

#ifndef LIMITREE_SERVER_NET_TEXT_HPP
#define LIMITREE_SERVER_NET_TEXT_HPP

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

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
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (const char one : text) {
    if (is_plain(one)) {
      encoded += one;
    } else {
      const auto byte = static_cast<unsigned char>(one);
      encoded += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return encoded;
}

// How many bytes the first character of `text` has; 0 if these bytes are not
// UTF-8.
inline std::size_t character_size(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t size = first < 0xC2   ? 0
                           : first < 0xE0 ? 2
                           : first < 0xF0 ? 3
                                          : 4;
  if (size == 0 || first > 0xF4) return 0;
  // The second byte shows overlong forms, surrogates and code points that are
  // too large.
  const unsigned least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned greatest = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < least || byte(1) > greatest) return 0;
  for (std::size_t i = 2; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return size;
}

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_NET_TEXT_HPP
