// The tag of a bucket: a keyed hash of its name.
//
// Its lowest bits choose the shard.  A bucket stores its Measure in their
// place.

#pragma once

#include <cstdint>

#include "base/limit.hpp"
#include "store/buckets/measure.hpp"
#include "store/siphash.hpp"

namespace limitree {

// Tags for SipHash::absorb: a pattern's text, a caller's segment with the same
// bytes and a limit's name never give the same words.
inline constexpr std::uint64_t kSegmentTag = 0;
inline constexpr std::uint64_t kPatternTag = 1;
inline constexpr std::uint64_t kSuffixTag = 2;

// Odd, so that its multiples differ.
inline constexpr std::uint64_t kAlgorithmTag = 0x9e3779b97f4a7c15;

[[gnu::always_inline]] inline std::uint64_t tag_of(const SipHash& path,
                                                   const Limit& limit) {
  std::uint64_t tag = 0;
  if (limit.suffix.empty()) [[likely]] {
    tag = path.finish();
  } else if (limit.suffix.view().front() == '!') {
    // A mark of the algorithm.  There are few, so hashing it is not worth it.
    tag = path.finish() ^
          (kAlgorithmTag * (static_cast<std::uint64_t>(limit.algorithm) + 1));
  } else {
    SipHash bucket = path;
    bucket.absorb(limit.suffix.view(), kSuffixTag);
    tag = bucket.finish();
  }
  // The value of a slot that was never used.
  return tag > Measure::kMask ? tag : tag | (Measure::kMask + 1);
}

}  // namespace limitree
