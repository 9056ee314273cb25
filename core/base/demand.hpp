// What all algorithms have in common: they compare the demand of a request with
// the units that a bucket has admitted.
//
// A value of an algorithm's type is one bucket at one instant:
//   used()       units in use
//   until(most)  the first instant at which used() <= most, if nothing is
//                charged until then; any past instant if that holds already
//   add(units)   charges
//   remove(u)    gives back up to `u` units; returns whether there were any
//   is_ahead()   whether the bucket was dated after now, and was moved to now

#pragma once

#include <algorithm>
#include <cstdint>

#include "base/plan.hpp"
#include "base/time.hpp"

namespace limitree {

// GCRA with an overrun: the same arithmetic, but a debt may exceed the burst
// offset by what the overrun adds.
class Overdraft {
 public:
  // No bucket owes more than `highest` tokens.
  Overdraft(Instant tat, Duration emission_interval, std::int64_t highest,
            Instant now)
      : interval_(emission_interval), now_(now) {
    const Duration most = emission_interval * highest;
    const Duration debt = saturating_sub(tat, now);
    debt_ = std::clamp(debt, Duration::zero(), most);
    ahead_ = debt > most;
  }

  // A token that is only partly back still counts as used.
  std::int64_t used() const {
    return (debt_ + interval_ - Duration(1)) / interval_;
  }
  Instant until(std::int64_t most) const {
    if (debt_ <= interval_ * most) return kLongAgo;
    return saturating_add(now_, debt_ - interval_ * most);
  }

  // Charges up to the largest debt allowed, down to a part of a token.
  bool charge(std::int64_t units, std::int64_t ceiling) {
    const Duration before = debt_;
    debt_ =
        std::max(debt_, std::min(debt_ + interval_ * std::min(units, ceiling),
                                 interval_ * ceiling));
    return debt_ != before;
  }
  bool remove(std::int64_t units) {
    const Duration before = debt_;
    // Never more than was charged, so that the product stays in range.
    const std::int64_t most =
        std::min<std::int64_t>(units, before / interval_ + 1);
    debt_ = std::max(before - interval_ * most, Duration::zero());
    return debt_ != before;
  }

  Instant state() const { return until(0); }
  bool is_ahead() const { return ahead_; }

 private:
  Duration interval_;
  Instant now_;
  Duration debt_;
  bool ahead_;
};

// What a request demands of one bucket.
struct Demand {
  Operation operation;
  std::int64_t cost;     // >= 0
  std::int64_t ceiling;  // the most that the bucket admits now
  std::int64_t capacity;
  Instant now;
  bool wants_growth;  // of the plan
  Charge charge = Charge::kAllOrNothing;
  Reservation reservation{};  // of the plan; its hold is that of the level
  // Whether the bucket is charged if the request fits, whatever others say.
  bool alone = false;

  // The request fits if at most this much is in use.
  constexpr std::int64_t room() const { return ceiling - cost; }

  // Whether it fits whatever is in use: the ceiling may have fallen below that.
  constexpr bool always_fits() const {
    return cost == 0 && !counts_denied(charge);
  }
  // The most units that a spent cost may leave in the bucket.
  constexpr std::int64_t spent_up_to() const {
    return counts_denied(charge) ? kMaxUnits : ceiling;
  }
};

constexpr Duration wait_until(Instant at, Instant now) {
  return at <= now ? Duration::zero() : saturating_sub(at, now);
}

// The time until the request fits.  `wait(most)` is the time until at most
// `most` units are in use.
template <typename Wait>
Duration fits_after(const Demand& demand, Wait wait) {
  if (demand.cost > demand.ceiling) return kNever;
  return demand.always_fits() ? Duration::zero() : wait(demand.room());
}

// The time until one more unit is left than now, if the caller wants to know.
template <typename Wait>
Duration grows_after(const Demand& demand, std::int64_t used, Wait wait) {
  if (!demand.wants_growth || used == 0) return Duration::zero();
  return wait(std::min(used, demand.capacity) - 1);
}

// How much of a spent cost there is room for.
constexpr std::int64_t room_to_spend(const Demand& demand, std::int64_t used) {
  return std::clamp(demand.spent_up_to() - used, std::int64_t{0}, demand.cost);
}

// The part of a Usage that `used` alone decides.
constexpr Usage usage_of(const Demand& demand, std::int64_t used) {
  Usage usage{};
  usage.never = demand.cost > demand.ceiling;
  usage.fits = demand.always_fits() || used <= demand.room();
  return usage;
}

// The units to add if the level is charged; negative: to give back.
constexpr std::int64_t units_moved(const Demand& demand, std::int64_t used) {
  if (demand.operation == Operation::kRefund) {
    return -std::min(demand.cost, used);
  }
  if (demand.operation == Operation::kSpend) return room_to_spend(demand, used);
  return used <= demand.room() ? demand.cost : 0;
}

// Applies the request to *bucket as if the level were charged.  Returns whether
// that changes the bucket.
template <typename Bucket>
bool apply(const Demand& demand, Bucket* bucket) {
  const std::int64_t units = demand.operation == Operation::kSpend
                                 ? room_to_spend(demand, bucket->used())
                                 : demand.cost;
  if (demand.operation == Operation::kRefund) return bucket->remove(units);
  if (units > 0) bucket->add(units);
  return units > 0;
}
inline bool apply(const Demand& demand, Overdraft* bucket) {
  if (demand.operation == Operation::kRefund) {
    return bucket->remove(demand.cost);
  }
  return bucket->charge(demand.cost, demand.ceiling);
}

// When nothing is in use any more.  Where every hit counts, that is the end of
// the window, even of an empty one: callers learn when the next window begins.
template <typename Bucket>
Instant empty_at(const Demand& demand, const Bucket& bucket) {
  if constexpr (requires { bucket.over(); }) {
    if (counts_denied(demand.charge)) return bucket.over();
  }
  return bucket.until(0);
}

// Compares `demand` with *bucket.  Afterwards *bucket is as a charge would
// leave it.
template <typename Bucket>
Usage evaluate(const Demand& demand, Bucket* bucket) {
  Usage usage = usage_of(demand, bucket->used());
  usage.ahead = bucket->is_ahead();
  const auto side = [&]() -> Usage::Side {
    const std::int64_t used = bucket->used();
    const auto wait = [&](std::int64_t most) {
      return wait_until(bucket->until(most), demand.now);
    };
    return {used, wait_until(empty_at(demand, *bucket), demand.now),
            fits_after(demand, wait), grows_after(demand, used, wait)};
  };
  // Then nobody reads the rest of that side.
  const bool skips_left = demand.alone && usage.fits;
  usage.left.used = bucket->used();
  if (!skips_left) usage.left = side();
  const bool charges =
      !is_asked(demand.operation) && demand.operation != Operation::kPeek;
  const bool counts = usage.fits || counts_denied(demand.charge);
  if (demand.cost > 0 && (charges || counts)) {
    usage.changes = apply(demand, bucket);
  }
  if (!usage.changes && skips_left) usage.left = side();
  usage.charged = usage.changes ? side() : usage.left;
  return usage;
}

}  // namespace limitree
