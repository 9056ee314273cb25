#include "stats/names.hpp"

#include <re2/re2.h>

namespace limitree::server {

namespace {

bool is_tail(std::string_view text, std::size_t at) {
  return at < text.size() && (text[at] & 0xC0) == 0x80;
}

bool is_bad(char byte) {
  const auto value = static_cast<unsigned char>(byte);
  return value < ' ' || value == 0x7F || value == ':' || value == '|';
}

}  // namespace

std::size_t character_size(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4 || !is_tail(text, 1)) return 0;
  if (first < 0xE0) return 2;
  const auto second = static_cast<unsigned char>(text[1]);
  if (!is_tail(text, 2)) return 0;
  if (first < 0xF0) {
    // Too long for what it says, or half of a pair of UTF-16.
    const bool wrong =
        (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F);
    return wrong ? 0 : 3;
  }
  const bool wrong =
      (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return wrong || !is_tail(text, 3) ? 0 : 4;
}

std::string clean_name(std::string_view name) {
  static const RE2 address(R"((\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3}))",
                           RE2::Latin1);
  std::string clean;
  clean.reserve(name.size());
  while (!name.empty()) {
    const std::size_t size = character_size(name);
    if (size == 0 || is_bad(name[0])) {
      clean += '_';
    } else {
      clean += name.substr(0, size);
    }
    name.remove_prefix(size == 0 ? 1 : size);
  }
  RE2::GlobalReplace(&clean, address, R"(\1_\2_\3_\4)");
  return clean;
}

}  // namespace limitree::server
