// Instants in whole microseconds, in which all algorithms except GCRA count.
// They divide instants; Redis can do that for whole numbers up to 2^53, and its
// clock counts no finer.
//
// What the caller gains is rounded down and what the caller has used is rounded
// up, so that rounding never admits more.

#ifndef LIMITREE_BASE_MICROS_HPP
#define LIMITREE_BASE_MICROS_HPP

#include <cstdint>

#include "base/time.hpp"

namespace limitree {

inline constexpr Duration kMicrosecond{1000};

// Returns the last multiple of `step` that is not after `at`, or the first
// instant there is.  REQUIRES: step > 0.
constexpr Instant floor_to(Instant at, Duration step) {
  const Duration rest = at.time_since_epoch() % step;
  const Instant floor = at - rest;
  return rest < Duration::zero() ? saturating_add(floor, -step) : floor;
}

// Returns the first whole microsecond that is not before `at`.
constexpr Instant ceil_micros(Instant at) {
  const Instant floor = floor_to(at, kMicrosecond);
  return floor == at ? at : saturating_add(floor, kMicrosecond);
}

// Returns a x b / c, rounded down.
// REQUIRES: a, b >= 0, c > 0, and a result in range.
constexpr std::int64_t mul_div(std::int64_t a, std::int64_t b, std::int64_t c) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) [[likely]]
    return product / c;
  __extension__ using Wide = __int128;
  return static_cast<std::int64_t>(Wide{a} * b / c);
}

// The same, rounded up.
constexpr std::int64_t mul_div_up(std::int64_t a, std::int64_t b,
                                  std::int64_t c) {
  std::int64_t sum = 0;
  if (!__builtin_mul_overflow(a, b, &sum) &&
      !__builtin_add_overflow(sum, c - 1, &sum)) [[likely]] {
    return sum / c;
  }
  __extension__ using Wide = __int128;
  return static_cast<std::int64_t>((Wide{a} * b + c - 1) / c);
}

}  // namespace limitree

#endif  // LIMITREE_BASE_MICROS_HPP
