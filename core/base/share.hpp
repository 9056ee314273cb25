// A part of a whole, as one integer over another: 1/8, or 0.125 as 125/1000.

#ifndef LIMITREE_BASE_SHARE_HPP
#define LIMITREE_BASE_SHARE_HPP

#include <cstdint>

#include "base/limit.hpp"

namespace limitree {

// REQUIRES: 0 <= part <= whole <= kMaxWhole, whole > 0.
struct Share {
  static constexpr std::int64_t kMaxWhole = 1'000'000'000;

  std::int64_t part = 1;
  std::int64_t whole = 1;

  constexpr bool is_all() const { return part == whole; }

  friend bool operator==(const Share&, const Share&) = default;
};

// Returns `share` of `number`, rounded down, without overflow.
// REQUIRES: number >= 0.
constexpr std::int64_t share_of(std::int64_t number, Share share) {
  return number / share.whole * share.part +
         number % share.whole * share.part / share.whole;
}

// Whether `part` is at least `share` of `whole`.  REQUIRES: both >= 0.
constexpr bool reaches(std::int64_t part, std::int64_t whole, Share share) {
  __extension__ using Wide = __int128;
  return Wide{part} * share.whole >= Wide{whole} * share.part;
}

// Multiplies the rate and the capacity of `rate` by `share`.  Never more than
// that, except that a bucket holds at least one token.
// REQUIRES: share.part > 0.
Rate share_of(const Rate& rate, Share share);

}  // namespace limitree

#endif  // LIMITREE_BASE_SHARE_HPP
