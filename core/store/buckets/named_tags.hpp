// The buckets that a request names, none of which is evicted for it.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "store/buckets/measure.hpp"

namespace limitree {

// More tags than this ascend, so that a search in them does not take long: a
// request may have thousands, and each may evict a bucket.
inline constexpr std::size_t kFewTags = 16;

template <typename Slot>
bool is_named(const Slot& slot, std::span<const std::uint64_t> tags) {
  const auto is_it = [&](std::uint64_t tag) { return slot.is_of(tag); };
  if (tags.size() <= kFewTags) return std::ranges::any_of(tags, is_it);
  // A bucket has its Measure in the lowest bits.
  const std::uint64_t from = slot.tag & ~Measure::kMask;
  auto at = std::ranges::lower_bound(tags, from);
  while (at != tags.end() && *at - from <= Measure::kMask) {
    if (is_it(*at++)) return true;
  }
  return false;
}

}  // namespace limitree
