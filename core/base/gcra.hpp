// The Generic Cell Rate Algorithm as arithmetic on values.
//
// Nothing here reads a clock, takes a lock or knows where a bucket is kept.  A
// store reads the theoretical arrival time (TAT), judge() decides (see
// judge.hpp), and the store writes now + reset_after.  A debt is TAT - now.
// The vectors of tests/conformance/ hold every store to these few lines.

#pragma once

#include <algorithm>
#include <cstdint>

#include "base/limit.hpp"
#include "base/time.hpp"

namespace limitree {

// The answer for one level.
struct Verdict {
  bool limited;            // the request does not fit
  bool charged;            // the bucket is written
  bool soft;               // fits above the capacity only: see Rules::overrun
  std::int64_t remaining;  // tokens left, 0 ... capacity
  Duration retry_after;    // kNotLimited, a wait, or kNever
  Duration reset_after;    // until the bucket is full: the debt left behind
  Duration next_after;     // until an identical request fits, or kNever
};

// What a request finds in one bucket, before the other levels are known.
struct Probe {
  Duration debt;    // 0 ... burst offset
  Duration charge;  // debt that the request adds, at most the burst offset
  bool fits;
  bool never;  // asks for more than the capacity
};

// Compares `cost` tokens with a bucket whose TAT is `debt` after now.  A bucket
// without state has debt zero.
//
// REQUIRES: cost >= 0.
[[gnu::always_inline]] constexpr Probe probe(const Rate& rate, Duration debt,
                                             std::int64_t cost) {
  // A TAT in the past is a full bucket, never a fuller one.  A TAT too far in
  // the future (the clock stepped back, the limit shrank) is an empty one: see
  // is_held().
  // By value: std::clamp() would keep all three in memory.
  const Duration most = rate.burst_offset();
  if (debt < Duration::zero()) debt = Duration::zero();
  if (debt > most) debt = most;
  const bool never = cost > rate.capacity;
  const Duration charge =
      rate.emission_interval * std::min(cost, rate.capacity);
  const bool fits = !never && debt + charge <= most;
  return {debt, charge, fits, never};
}

// The verdict of a level whose bucket owes `debt` after the request: the debt
// found, plus the charge if the level is charged.
constexpr Verdict verdict(const Rate& rate, const Probe& found, Duration debt) {
  const Duration lacking = debt + found.charge - rate.burst_offset();
  const Duration fitting =
      lacking < Duration::zero() ? Duration::zero() : lacking;
  const Duration wait = found.never ? kNever : fitting;
  return {
      .limited = !found.fits,
      .charged = debt != found.debt,
      .soft = false,
      .remaining = (rate.burst_offset() - debt) / rate.emission_interval,
      .retry_after = found.fits ? kNotLimited : wait,
      .reset_after = debt,
      .next_after = wait,
  };
}

// The time until a bucket that owes `debt` gains a token; 0 if it is full.
constexpr Duration grows_after(const Rate& rate, Duration debt) {
  if (debt == Duration::zero()) return debt;
  const Duration free = rate.burst_offset() - debt;
  return rate.emission_interval - free % rate.emission_interval;
}

// The debt after spend(): more by the charge, at most that of an empty bucket.
constexpr Duration debt_after_spend(const Rate& rate, const Probe& found) {
  return std::min(found.debt + found.charge, rate.burst_offset());
}

// The debt after refund(): less by the charge, at least that of a full bucket.
constexpr Duration debt_after_refund(const Probe& found) {
  return std::max(found.debt - found.charge, Duration::zero());
}

}  // namespace limitree
