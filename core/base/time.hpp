// Time as integer nanoseconds, and arithmetic on it that cannot overflow.
//
// Nothing here reads a clock.  The owner of a store chooses the clock (see
// store/clock.hpp) and passes instants down.

#ifndef LIMITREE_BASE_TIME_HPP
#define LIMITREE_BASE_TIME_HPP

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

// Returns seconds, rounded up: a wait that ends within a second has not ended
// before.
constexpr std::int64_t ceil_seconds(Duration time) {
  return std::chrono::ceil<std::chrono::seconds>(time).count();
}

}  // namespace limitree

#endif  // LIMITREE_BASE_TIME_HPP
