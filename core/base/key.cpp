#include "base/key.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/sha.hpp"
#include "base/utf8.hpp"

namespace limitree {

namespace {

constexpr std::size_t kMaxSegment = 200;  // bytes; longer segments are hashed

constexpr bool is_reserved(char c) {
  switch (c) {
    case '%':
    case '!':
    case ':':
    case '{':
    case '}':
    case '#':
    case '*':
    case ' ':
    case 0x7f:
      return true;
    default:
      return static_cast<unsigned char>(c) < 0x20;
  }
}

// Bytes that never need an escape: most names have no others.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (char c = '!'; c != 0x7f; ++c) {
    plain[static_cast<unsigned char>(c)] = c != '~' && !is_reserved(c);
  }
  return plain;
}();

void append_escaped(const Segment& segment, std::string* name) {
  const std::string_view text = segment.text;
  if (std::ranges::all_of(
          text, [](char c) { return kPlain[static_cast<unsigned char>(c)]; })) {
    name->append(text);
    return;
  }
  const bool pattern = segment.kind == Segment::Kind::kPattern;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t size = utf8_size(text.substr(i));
    const bool kept = text[i] == '*' ? pattern : !is_reserved(text[i]);
    // A leading ~ says that a hash follows.
    if (size > 0 && kept && !(i == 0 && text[i] == '~')) {
      name->append(text, i, size);
      i += size;
      continue;
    }
    name->push_back('%');
    append_hex(static_cast<unsigned char>(text[i]), name);
    ++i;
  }
}

void append_hashed(const Segment& segment, std::string* name) {
  name->push_back('~');
  if (segment.kind == Segment::Kind::kPattern) name->push_back('*');
  *name += sha256_hex(segment.text);
}

}  // namespace

void append_segment(const Segment& segment, std::string* name) {
  if (segment.text.empty()) {
    name->push_back('%');
  } else if (segment.text.size() > kMaxSegment) {
    append_hashed(segment, name);
  } else {
    append_escaped(segment, name);
  }
}

std::string bucket_name(const Plan& plan, const Level& level) {
  std::string name;
  for (std::uint32_t i = 0; i < level.depth; ++i) {
    if (i > 0) name.push_back(':');
    append_segment(plan.segments[level.first + i], &name);
  }
  return name += level.limit->suffix.view();
}

}  // namespace limitree
