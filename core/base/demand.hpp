// What all algorithms have in common: they compare a request's demand with the
// units that a bucket has admitted.
//
// An algorithm is a type whose values are one bucket as it is now:
//   used()       units that are held against the caller
//   until(most)  the first instant at which used() <= most, if nobody comes;
//                any instant that has passed, if it is so now
//   add(units)   charges
//   remove(u)    gives back up to so many, and tells whether there were any
//   is_ahead()   whether it was found dated after now, and has been moved to
//   now

#ifndef LIMITREE_BASE_DEMAND_HPP
#define LIMITREE_BASE_DEMAND_HPP

#include <algorithm>
#include <cstdint>

#include "base/overdraft.hpp"
#include "base/plan.hpp"
#include "base/usage.hpp"

namespace limitree {

// What is asked of one bucket.
struct Demand {
  Operation operation;
  std::int64_t cost;     // >= 0
  std::int64_t ceiling;  // the most that the bucket admits now
  std::int64_t capacity;
  Instant now;
  bool wants_growth;  // of the plan

  // The most that may be used for the request to fit.
  constexpr std::int64_t room() const { return ceiling - cost; }
};

constexpr Duration wait_until(Instant at, Instant now) {
  return at <= now ? Duration::zero() : saturating_sub(at, now);
}

// Until the request fits, where `wait` says how long it is until so many units
// at most are used.
template <typename Wait>
Duration fits_after(const Demand& demand, Wait wait) {
  if (demand.cost > demand.ceiling) return kNever;
  // Cost 0 fits whatever is owed: the ceiling may have fallen below it.
  return demand.cost == 0 ? Duration::zero() : wait(demand.room());
}

// Until a unit more is left than with so many used, if that is asked for.
template <typename Wait>
Duration grows_after(const Demand& demand, std::int64_t used, Wait wait) {
  if (!demand.wants_growth || used == 0) return Duration::zero();
  return wait(std::min(used, demand.capacity) - 1);
}

// Of a spent cost what there is room for.
constexpr std::int64_t room_to_spend(const Demand& demand, std::int64_t used) {
  return std::clamp(demand.ceiling - used, std::int64_t{0}, demand.cost);
}

// The part of a Usage that `used` alone decides.
constexpr Usage usage_of(const Demand& demand, std::int64_t used) {
  Usage usage{};
  usage.never = demand.cost > demand.ceiling;
  // Cost 0 is never limited, whatever is owed.
  usage.fits = demand.cost == 0 || used <= demand.room();
  return usage;
}

// The units that are added if the level is charged, or given back if < 0.
constexpr std::int64_t units_moved(const Demand& demand, std::int64_t used) {
  if (demand.operation == Operation::kRefund) {
    return -std::min(demand.cost, used);
  }
  if (demand.operation == Operation::kSpend) return room_to_spend(demand, used);
  return used <= demand.room() ? demand.cost : 0;
}

// Charges or gives back what is charged if the level is, and tells whether the
// bucket is another now.
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

// Compares `demand` with *bucket, and changes the bucket into what it is if the
// level is charged.
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
