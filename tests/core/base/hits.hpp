// What a hit finds in its counter and leaves there, for tests.

#pragma once

#include <algorithm>
#include <cstdint>

#include "base/plan.hpp"

namespace limitree {

struct Hits {
  std::int64_t before;  // units in use when the hit came
  std::int64_t after;   // with those of the hit

  // A hit is denied if it leaves more in use than the limit admits.  That
  // includes a hit of cost 0, which only looks.
  bool exceeds(std::int64_t limit) const { return after > limit; }
  std::int64_t remaining(std::int64_t limit) const {
    return std::max(limit - after, std::int64_t{0});
  }
};

// The hit of `cost` that came to the bucket of `level` after others of the same
// request, which cost `earlier` in all.
constexpr Hits hits_of(const Level& level, std::int64_t earlier,
                       std::int64_t cost) {
  return {used_after_hit(level, earlier, 0),
          used_after_hit(level, earlier, cost)};
}

// The only hit of the level.
constexpr Hits hits_of(const Level& level) {
  return hits_of(level, 0, level.cost);
}

}  // namespace limitree
