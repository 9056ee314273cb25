#include "store/redis/family.hpp"

#include <algorithm>

#include "base/key.hpp"

namespace limitree::redis {

namespace {

bool is_pattern(const Segment& segment) {
  return segment.kind == Segment::Kind::kPattern;
}

bool is_same(const Segment& a, const Segment& b) {
  return a.text == b.text && is_pattern(a) == is_pattern(b);
}

}  // namespace

Family family_of(const Plan& plan, const Level& level) {
  const Segment* const path = plan.segments.data() + level.first;
  Family family = {level.first, 0, 0};
  for (std::uint32_t i = 0; i < level.depth; ++i) {
    if (path[i].kind == Segment::Kind::kExact) continue;
    if (family.tag == 0) family.tag = i + 1;
    family.depth = i + 1;
  }
  // What belongs to no caller goes by the root.
  if (family.tag == 0) family.tag = family.depth = 1;
  return family;
}

bool same_family(const Plan& plan, const Family& a, const Family& b) {
  if (a.depth != b.depth || a.tag != b.tag) return false;
  const Segment* const segments = plan.segments.data();
  return a.first == b.first ||
         std::equal(segments + a.first, segments + a.first + a.depth,
                    segments + b.first, is_same);
}

void append_key(const Plan& plan, const Family& family, std::string_view prefix,
                std::string* out) {
  out->append(prefix);
  out->push_back('{');
  for (std::uint32_t i = 0; i < family.depth; ++i) {
    if (i > 0) out->push_back(':');
    append_segment(plan.segments[family.first + i], out);
    if (i + 1 == family.tag) out->push_back('}');
  }
}

void append_field(const Plan& plan, const Family& family, const Level& level,
                  std::string* out) {
  for (std::uint32_t i = family.depth; i < level.depth; ++i) {
    if (i > family.depth) out->push_back(':');
    append_segment(plan.segments[level.first + i], out);
  }
  out->append(level.limit->suffix.view());
}

Families::Families(const Plan& plan, LevelSet levels) {
  InlineVector<std::uint32_t, 8> member_of;
  for (const std::uint32_t level : levels) {
    const Family family = family_of(plan, plan.levels[level]);
    // Mostly the last one.
    std::size_t at = members_.size();
    while (at > 0 && !same_family(plan, members_[at - 1].family, family)) --at;
    if (at == 0) {
      members_.push_back({family, 0});
      at = members_.size();
    }
    ++members_[at - 1].levels;
    member_of.push_back(static_cast<std::uint32_t>(at - 1));
  }
  for (std::uint32_t member = 0; member < members_.size(); ++member) {
    for (std::size_t i = 0; i < levels.size(); ++i) {
      if (member_of[i] == member) levels_.push_back(levels[i]);
    }
  }
}

}  // namespace limitree::redis
