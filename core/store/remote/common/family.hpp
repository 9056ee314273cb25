// Families: which levels of a plan share a key, and what they are called.
// call.hpp has the rules.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/inline_vector.hpp"
#include "base/plan.hpp"

namespace limitree::remote {

using LevelSet = std::span<const std::uint32_t>;

struct Family {
  std::uint32_t first;  // its key is made of segments[first] ...
  std::uint32_t depth;  // ... and this many in all,
  std::uint32_t tag;    // of which this many stand in the braces
};

Family family_of(const Plan& plan, const Level& level);

void append_key(const Plan& plan, const Family& family, std::string_view prefix,
                std::string* out);
void append_field(const Plan& plan, const Family& family, const Level& level,
                  std::string* out);

// Some levels of a plan, family by family: in this order a call of the script
// names them, and its reply answers.
class Families {
 public:
  struct Member {
    Family family;
    std::uint32_t levels;  // how many of them, one after the other
  };

  // REQUIRES: `levels` is not empty.
  Families(const Plan& plan, LevelSet levels);

  const InlineVector<Member, 4>& members() const { return members_; }
  const InlineVector<std::uint32_t, 8>& levels() const { return levels_; }

  // Whether any of these levels can hold units.
  bool any_holds(const Plan& plan) const {
    bool any = false;
    for (const std::uint32_t i : levels_) any |= plan.levels[i].limit->holds();
    return any;
  }

 private:
  // Of each of some levels, its index in members_.
  using Members = InlineVector<std::uint32_t, 8>;

  void compare_each(const Plan& plan, LevelSet levels, Members* member_of);
  void compare_sorted(const Plan& plan, LevelSet levels, Members* member_of);

  InlineVector<Member, 4> members_;        // each family once
  InlineVector<std::uint32_t, 8> levels_;  // indices into plan.levels
};

}  // namespace limitree::remote
