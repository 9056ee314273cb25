// Structs of counters that add up field by field: a field cannot be left out.

#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/plan.hpp"

namespace limitree {

// The counters of a struct that has nothing else, in their order.
template <typename Counts>
using CountArray =
    std::array<std::int64_t, sizeof(Counts) / sizeof(std::int64_t)>;

// Adds each counter of `more`.  Clients choose the numbers of hits, so that
// sums stop at the largest number.
template <typename Counts>
Counts& add_counts(const Counts& more, Counts* sum) {
  auto counts = std::bit_cast<CountArray<Counts>>(*sum);
  const auto added = std::bit_cast<CountArray<Counts>>(more);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    counts[i] = saturating_sum(counts[i], added[i]);
  }
  return *sum = std::bit_cast<Counts>(counts);
}

}  // namespace limitree
