// What Charge::kEveryHit has counted, for callers that answer each hit by
// itself and keep statistics of them.
//
// Two hits of a request may reach the same bucket.  The plan has one level for
// both, with the sum of their costs (join_same_buckets()), and the caller takes
// the level's answer apart again: the second hit finds what the first has left.

#ifndef LIMITREE_BASE_HITS_HPP
#define LIMITREE_BASE_HITS_HPP

#include <algorithm>
#include <cstdint>

#include "base/plan.hpp"

namespace limitree {

struct Hits {
  std::int64_t before;  // units in use when the hit came
  std::int64_t after;   // with those of the hit, above kMaxUnits too

  // A hit is denied if it leaves more in use than the limit admits.  That
  // includes a hit of cost 0, which only looks.
  bool exceeds(std::int64_t limit) const { return after > limit; }
  std::int64_t remaining(std::int64_t limit) const {
    return std::max(limit - after, std::int64_t{0});
  }
};

// The hit of `cost` that came to the bucket of `level` after others of the same
// request, which cost `earlier` in all.
// REQUIRES: `level` is of an operation that does not refund, and was judged.
constexpr Hits hits_of(const Level& level, std::int64_t earlier,
                       std::int64_t cost) {
  const std::int64_t before = saturating_sum(level.before, earlier);
  return {before, saturating_sum(before, cost)};
}

// The only hit of the level.
constexpr Hits hits_of(const Level& level) {
  return hits_of(level, 0, level.cost);
}

}  // namespace limitree

#endif  // LIMITREE_BASE_HITS_HPP
