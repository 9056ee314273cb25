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

#ifndef LIMITREE_BASE_DEMAND_HPP
#define LIMITREE_BASE_DEMAND_HPP

#include <algorithm>
#include <cstdint>

#include "base/overdraft.hpp"
#include "base/plan.hpp"
#include "base/usage.hpp"

namespace limitree {

// What a request demands of one bucket.
struct Demand {
  Operation operation;
  std::int64_t cost;     // >= 0
  std::int64_t ceiling;  // the most that the bucket admits now
  std::int64_t capacity;
  Instant now;
  bool wants_growth;  // of the plan

  // The request fits if at most this much is in use.
  constexpr std::int64_t room() const { return ceiling - cost; }
};

constexpr Duration wait_until(Instant at, Instant now) {
  return at <= now ? Duration::zero() : saturating_sub(at, now);
}

// The time until the request fits.  `wait(most)` is the time until at most
// `most` units are in use.
template <typename Wait>
Duration fits_after(const Demand& demand, Wait wait) {
  if (demand.cost > demand.ceiling) return kNever;
  // Cost 0 always fits: the ceiling may have fallen below what is in use.
  return demand.cost == 0 ? Duration::zero() : wait(demand.room());
}

// The time until one more unit is left than now, if the caller wants to know.
template <typename Wait>
Duration grows_after(const Demand& demand, std::int64_t used, Wait wait) {
  if (!demand.wants_growth || used == 0) return Duration::zero();
  return wait(std::min(used, demand.capacity) - 1);
}

// How much of a spent cost there is room for.
constexpr std::int64_t room_to_spend(const Demand& demand, std::int64_t used) {
  return std::clamp(demand.ceiling - used, std::int64_t{0}, demand.cost);
}

// The part of a Usage that `used` alone decides.
constexpr Usage usage_of(const Demand& demand, std::int64_t used) {
  Usage usage{};
  usage.never = demand.cost > demand.ceiling;
  // A request of cost 0 is never limited.
  usage.fits = demand.cost == 0 || used <= demand.room();
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

// Compares `demand` with *bucket.  Leaves *bucket as it is after a charge.
template <typename Bucket>
Usage evaluate(const Demand& demand, Bucket* bucket) {
  Usage usage = usage_of(demand, bucket->used());
  usage.ahead = bucket->is_ahead();
  const auto side = [&]() -> Usage::Side {
    const std::int64_t used = bucket->used();
    const auto wait = [&](std::int64_t most) {
      return wait_until(bucket->until(most), demand.now);
    };
    return {used, wait(0), fits_after(demand, wait),
            grows_after(demand, used, wait)};
  };
  usage.left = side();
  const bool charges = demand.operation != Operation::kAuthorize &&
                       demand.operation != Operation::kPeek;
  if (demand.cost > 0 && (charges || usage.fits)) {
    usage.changes = apply(demand, bucket);
  }
  usage.charged = usage.changes ? side() : usage.left;
  return usage;
}

}  // namespace limitree

#endif  // LIMITREE_BASE_DEMAND_HPP
