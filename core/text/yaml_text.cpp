#include "text/yaml_text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/utf8.hpp"
#include "text/number.hpp"
#include "text/problems.hpp"

namespace limitree {

namespace {

constexpr std::size_t kMaxSimpleKey = 1000;  // YAML allows 1024 characters

// Some readers take these for something else.
constexpr std::array<std::string_view, 9> kReserved = {
    "true", "false", "yes", "no", "on", "off", "null", "y", "n"};

bool is_plain(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.' ||
         c == '/';
}

// REQUIRES: one character of UTF-8.
std::uint32_t code_point(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first;
  std::uint32_t point = first & (0x7fU >> character.size());
  for (const char c : character.substr(1)) {
    point = point << 6 | (static_cast<unsigned char>(c) & 0x3fU);
  }
  return point;
}

// Whether YAML needs an escape for a character: control characters, other line
// ends, byte order marks, and code points that are not characters.
bool is_special(std::uint32_t point) {
  return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x2028 ||
         point == 0x2029 || point == 0xfeff || (point & 0xfffe) == 0xfffe;
}

}  // namespace

std::string yaml_quoted(std::string_view text) {
  std::string quoted = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view character =
        text.substr(i, std::max(utf8_size(text.substr(i)), std::size_t{1}));
    i += character.size();
    const std::uint32_t point = code_point(character);
    if (is_special(point)) {
      quoted += "\\U";
      for (int shift = 24; shift >= 0; shift -= 8) {
        append_hex(static_cast<unsigned char>(point >> shift), &quoted);
      }
      continue;
    }
    if (point == '"' || point == '\\') quoted += '\\';
    quoted += character;
  }
  return quoted += '"';
}

std::string yaml_scalar(std::string_view text) {
  const bool plain = !text.empty() && (is_letter(text[0]) || text[0] == '/') &&
                     std::all_of(text.begin(), text.end(), is_plain) &&
                     !contains(kReserved, lower_case(text));
  return plain ? std::string(text) : yaml_quoted(text);
}

void append_yaml_key(std::string_view margin, std::size_t size,
                     std::string_view text, std::string* yaml) {
  const bool simple = size <= kMaxSimpleKey;
  *yaml += margin;
  if (!simple) *yaml += "? ";
  *yaml += text;
  if (!simple) yaml->append(1, '\n').append(margin);
  *yaml += ':';
}

}  // namespace limitree
