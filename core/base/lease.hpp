// Leases: units that a process takes from the store at once, and then spends by
// itself, so that a hot caller costs a few round trips instead of one for each
// request.
//
// GCRA with burst offset BO admits at most (BO + w) / T units in any time w.  A
// leased unit is used up to D after the instant at which it was charged.  So
// every charge of such a limit, leased or not, is decided against a burst
// offset that is smaller by D: what is used within [a, a + w] was charged
// within [a - D, a + w], which is at most
//
//   (BO - D + w + D) / T = (BO + w) / T
//
// Two things would break that: charges without a lease against the whole burst
// offset, and giving back what a lease has left.  Neither is ever done.  So the
// limit itself has the smaller capacity, and nothing else knows the larger one.

#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/limit.hpp"
#include "base/time.hpp"

namespace limitree {

// The shortest lease; a shorter one would end on its way to the process.
inline constexpr Duration kMinLease = std::chrono::milliseconds(1);

// The longest time that a bucket of leased units may take to fill: scripts
// count what is free in nanoseconds, of which a double holds 104 days.
inline constexpr Duration kMaxLeasedOffset = std::chrono::days(100);

// The most units of one lease, and levels of a path that is leased.
inline constexpr std::int64_t kMaxLeased = 1'000'000;
inline constexpr std::size_t kMaxLeasedLevels = 6;

// The capacity against which all is charged where units are leased for `lease`:
// whole tokens, so that it takes D or a little more off the burst offset.
constexpr std::int64_t leased_capacity(const Rate& stated, Duration lease) {
  return stated.capacity -
         mul_div_up(lease.count(), 1, stated.emission_interval.count());
}

// The capacity that was stated.
constexpr std::int64_t stated_capacity(const Rate& leased, Duration lease) {
  return leased.capacity +
         mul_div_up(lease.count(), 1, leased.emission_interval.count());
}

// How long units may be used, from before they were asked for.  A little less
// than D: two clocks of a machine differ, and none runs at the same speed as
// that of the store.
constexpr Duration valid_for(Duration lease) { return lease - lease / 64; }

// What a plan asks for besides its own cost, if it is allowed.
struct LeaseAsk {
  std::int64_t most = 0;     // requests of one unit; 0: it asks for nothing
  std::int64_t parts = 2;    // takes no more than one of so many parts of what
                             // is free
  std::int64_t granted = 0;  // set by the store
};

// How often `unit` goes into one of `parts` parts of `free`, and `most` if that
// is less: of nanoseconds of debt, or units of a window.
// REQUIRES: free >= 0, unit > 0, 0 < parts <= kMaxLeaseParts.
inline constexpr std::int64_t kMaxLeaseParts = 256;
constexpr std::int64_t leased_units(std::int64_t free, std::int64_t unit,
                                    std::int64_t parts, std::int64_t most) {
  return std::min(free / parts / unit, most);
}

}  // namespace limitree
