// The Generic Cell Rate Algorithm as arithmetic on values.
//
// Nothing here reads a clock, takes a lock or knows where a bucket is kept: a
// store reads the theoretical arrival time (TAT), the request is judged (see
// judge.hpp), and the store writes now + reset_after.  A debt is TAT - now;
// the vectors of tests/conformance/ hold every store to these few lines.

#ifndef LIMITREE_BASE_GCRA_HPP
#define LIMITREE_BASE_GCRA_HPP

#include <algorithm>
#include <cstdint>

#include "base/limit.hpp"
#include "base/time.hpp"

namespace limitree {

// The answer for one level.
struct Verdict {
  bool limited;            // what was asked for does not fit
  bool charged;            // the bucket is written
  bool soft;               // fits above the capacity only: see Rules::overrun
  std::int64_t remaining;  // tokens left, 0 ... capacity
  Duration retry_after;    // kNotLimited, a wait, or kNever
  Duration reset_after;    // until the bucket is full: the debt left behind
  Duration next_after;     // until an identical request fits, or kNever
};

// What a request finds at one bucket, before it is known whether the request
// as a whole is allowed.
struct Probe {
  Duration debt;    // 0 ... burst offset
  Duration charge;  // debt that the request adds, held at the burst offset
  bool fits;
  bool never;  // asks for more than the capacity
};

// Weighs `cost` tokens against a bucket whose TAT lies `debt` after now; a
// bucket without state has debt zero.
//
// REQUIRES: cost >= 0.
constexpr Probe probe(const Rate& rate, Duration debt, std::int64_t cost) {
  // A TAT in the past means a full bucket, not a fuller one; one too far in
  // the future (the clock stepped back, the limit shrank) means an empty one:
  // see is_held().
  debt = std::clamp(debt, Duration::zero(), rate.burst_offset());
  const bool never = cost > rate.capacity;
  const Duration charge =
      rate.emission_interval * std::min(cost, rate.capacity);
  const bool fits = !never && debt + charge <= rate.burst_offset();
  return {debt, charge, fits, never};
}

// The verdict of a level that is left with `debt` after the request: the debt
// found, or that plus the charge if the level is charged.
constexpr Verdict verdict(const Rate& rate, const Probe& found, Duration debt) {
  const Duration wait =
      found.never ? kNever
                  : std::max(Duration::zero(),
                             debt + found.charge - rate.burst_offset());
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

// Until a bucket that owes `debt` has a token more; 0 if it is full.
constexpr Duration grows_after(const Rate& rate, Duration debt) {
  if (debt == Duration::zero()) return debt;
  const Duration free = rate.burst_offset() - debt;
  return rate.emission_interval - free % rate.emission_interval;
}

// The debt left by spend(): all of the charge, held at an empty bucket.
constexpr Duration debt_after_spend(const Rate& rate, const Probe& found) {
  return std::min(found.debt + found.charge, rate.burst_offset());
}

// The debt left by refund(): less the charge, held at a full bucket.
constexpr Duration debt_after_refund(const Probe& found) {
  return std::max(found.debt - found.charge, Duration::zero());
}

}  // namespace limitree

#endif  // LIMITREE_BASE_GCRA_HPP
