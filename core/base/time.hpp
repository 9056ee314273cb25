// Time as integer nanoseconds, and arithmetic on it that cannot overflow.
//
// Nothing here reads a clock.  The owner of a store chooses the clock (see
// store/clock.hpp) and passes instants down.

#pragma once

#include <chrono>
#include <cstdint>

namespace limitree {

using Duration = std::chrono::nanoseconds;
using Instant = std::chrono::sys_time<Duration>;

// No wait is long enough: the cost exceeds the capacity.
inline constexpr Duration kNever = Duration::max();

// The retry_after of a request that is not limited.
inline constexpr Duration kNotLimited = Duration(-1);

// The Instant before any other; a bucket with it is full.
inline constexpr Instant kLongAgo = Instant::min();

// Returns at + by, limited to the range of Instant: an injected clock may name
// any instant, and signed overflow would be undefined.
constexpr Instant saturating_add(Instant at, Duration by) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(at.time_since_epoch().count(), by.count(), &sum)) {
    return by.count() < 0 ? Instant::min() : Instant::max();
  }
  return Instant(Duration(sum));
}

// Returns later - earlier, limited to the range of Duration.
constexpr Duration saturating_sub(Instant later, Instant earlier) {
  std::int64_t difference = 0;
  if (__builtin_sub_overflow(later.time_since_epoch().count(),
                             earlier.time_since_epoch().count(), &difference)) {
    return later < earlier ? Duration::min() : Duration::max();
  }
  return Duration(difference);
}

// Returns seconds, rounded up: a wait of 1.2 seconds is not over after 1.
constexpr std::int64_t ceil_seconds(Duration time) {
  return std::chrono::ceil<std::chrono::seconds>(time).count();
}

// All algorithms except GCRA count in whole microseconds.  They divide
// instants; Redis can do that for whole numbers up to 2^53, and its clock
// counts no finer.
//
// What the caller gains is rounded down and what the caller has used is rounded
// up, so that rounding never admits more.
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
