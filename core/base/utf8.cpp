#include "base/utf8.hpp"

namespace limitree {

namespace {

bool continues(std::string_view text, std::size_t i) {
  return i < text.size() && (static_cast<unsigned char>(text[i]) >> 6) == 2;
}

}  // namespace

std::size_t utf8_size(std::string_view text) {
  if (text.empty()) return 0;
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4 || !continues(text, 1)) return 0;
  if (lead < 0xe0) return 2;
  if (!continues(text, 2)) return 0;

  // The second byte alone excludes overlong forms, surrogates and code points
  // above U+10FFFF.
  const auto second = static_cast<unsigned char>(text[1]);
  if (lead < 0xf0) {
    if (lead == 0xe0 && second < 0xa0) return 0;
    if (lead == 0xed && second > 0x9f) return 0;
    return 3;
  }
  if (lead == 0xf0 && second < 0x90) return 0;
  if (lead == 0xf4 && second > 0x8f) return 0;
  return continues(text, 3) ? 4 : 0;
}

}  // namespace limitree
