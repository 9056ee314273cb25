#include "store/remote/common/family.hpp"

#include <algorithm>

#include "base/key.hpp"

namespace limitree::remote {

namespace {

// Up to this many levels are compared with each other; more are sorted.
constexpr std::size_t kFew = 24;

// 0: they are the same.
int compare_families(const Plan& plan, const Family& a, const Family& b) {
  if (a.tag != b.tag) return a.tag < b.tag ? -1 : 1;
  if (a.first == b.first && a.depth == b.depth) return 0;
  const Segment* const segments = plan.segments.data();
  return compare_names({segments + a.first, a.depth},
                       {segments + b.first, b.depth});
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
  // Levels that belong to no caller go by the root.
  if (family.tag == 0) family.tag = family.depth = 1;
  return family;
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
  if (levels.size() <= kFew) {
    compare_each(plan, levels, &member_of);
  } else {
    compare_sorted(plan, levels, &member_of);
  }
  InlineVector<std::uint32_t, 4> next;  // a member's next place in levels_
  std::uint32_t before = 0;
  for (const Member& member : members_) {
    next.push_back(before);
    before += member.levels;
  }
  levels_.resize(levels.size());
  for (std::size_t i = 0; i < levels.size(); ++i) {
    levels_[next[member_of[i]]++] = levels[i];
  }
}

void Families::compare_each(const Plan& plan, LevelSet levels,
                            Members* member_of) {
  for (const std::uint32_t level : levels) {
    const Family family = family_of(plan, plan.levels[level]);
    // Mostly the last one.
    std::size_t at = members_.size();
    while (at > 0 &&
           compare_families(plan, members_[at - 1].family, family) != 0) {
      --at;
    }
    if (at == 0) {
      members_.push_back({family, 0});
      at = members_.size();
    }
    ++members_[at - 1].levels;
    member_of->push_back(static_cast<std::uint32_t>(at - 1));
  }
}

void Families::compare_sorted(const Plan& plan, LevelSet levels,
                              Members* member_of) {
  InlineVector<Family, kFew> families;
  InlineVector<std::uint32_t, kFew> order;
  for (const std::uint32_t level : levels) {
    order.push_back(static_cast<std::uint32_t>(families.size()));
    families.push_back(family_of(plan, plan.levels[level]));
  }
  const auto compare = [&](std::uint32_t a, std::uint32_t b) {
    return compare_families(plan, families[a], families[b]);
  };
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const int found = compare(a, b);
    return found != 0 ? found < 0 : a < b;
  });
  // First the place of the first level of its family, then the family's.
  member_of->resize(order.size());
  std::uint32_t first = order[0];
  for (const std::uint32_t i : order) {
    if (compare(first, i) != 0) first = i;
    (*member_of)[i] = first;
  }
  for (std::uint32_t i = 0; i < member_of->size(); ++i) {
    std::uint32_t& member = (*member_of)[i];
    if (member == i) {
      member = static_cast<std::uint32_t>(members_.size());
      members_.push_back({families[i], 0});
    } else {
      member = (*member_of)[member];
    }
    ++members_[member].levels;
  }
}

}  // namespace limitree::remote
