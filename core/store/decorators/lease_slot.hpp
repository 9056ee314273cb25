// What this process knows of one path whose units it may lease: how much the
// path uses, what it holds, and what a sole caller would find in the buckets.

#pragma once

#include <algorithm>
#include <cstdint>

#include "base/lease.hpp"
#include "base/plan.hpp"
#include "base/time.hpp"

namespace limitree {

// A slot of a SlotTable: see slot_table.hpp.
struct LeaseSlot {
  static constexpr bool kOwns = false;
  static constexpr std::uint32_t kOne = 16;  // rates are counted in sixteenths

  std::uint64_t tag;    // of the last bucket of the path
  std::uint64_t shape;  // of all of them
  Instant over_at;      // forgotten if nobody comes until then

  // Demand: what was counted since then, and what a time of D has lately seen.
  Instant since;
  std::uint32_t requests;
  std::uint32_t units;
  std::uint32_t request_rate;
  std::uint32_t unit_rate;

  // Units of two grants.  Those of the first are spent first.
  struct Held {
    Instant end;
    std::int64_t units;
  };
  Held held[2];
  Instant asked_until;  // a request is on its way to the store

  // Until then what is not held is denied at that level, without asking the
  // store, so that there is more to take at once.
  Instant denied_until;
  std::uint32_t denied;

  // What was asked for in another epoch is not taken.
  std::uint32_t epoch;

  // The bucket of each level, if nobody else came: when it is full again or
  // its window ends, and the units in the window.
  Instant ends[kMaxLeasedLevels];
  std::uint32_t used[kMaxLeasedLevels];

  // When the last bucket would be full if nobody else came, how many units this
  // process has taken since it was asked about, and how many processes seem to
  // take as many.
  Instant full_at;
  std::uint32_t taken;
  std::uint32_t processes;

  bool is_of(std::uint64_t other) const { return tag == other; }
  bool is_over(Instant now) const { return over_at <= now; }
  // Paths that hold units stay longest, then those that are used most.
  float share(Instant now) const {
    if (is_over(now)) return 0;
    return units_at(now) > 0
               ? 1.0F
               : std::min(static_cast<float>(request_rate), 1e6F) / 2e6F;
  }
  static bool denies(Instant /*now*/) { return false; }

  std::int64_t units_at(Instant now) const {
    std::int64_t sum = 0;
    for (const Held& one : held) sum += one.end > now ? one.units : 0;
    return sum;
  }

  // Counts a request of `cost` units.
  void count(Instant now, Duration lease, std::int64_t cost);

  // Whether it is seen less than twice in the time of a lease.
  bool is_rare() const { return request_rate < 2 * kOne; }

  bool denies(Instant now, std::int64_t cost) const {
    return denied_until > now && units_at(now) < cost;
  }

  // How many units to ask for: somewhat fewer than it will use, because those
  // that are left when a lease ends are lost.
  std::int64_t wanted() const {
    return std::int64_t{unit_rate} * 3 / (4 * kOne);
  }

  // Takes units that can still be used.  Returns false if they are too few.
  bool take(Instant now, std::int64_t cost);

  // Adds units of a grant.
  void add(Instant now, const Held& grant);

  // Counts units that it takes from the last bucket, at `unit` each.
  void add_taken(std::int64_t cost, Duration unit) {
    taken = static_cast<std::uint32_t>(std::min<std::int64_t>(
        taken + std::min(cost, 2 * kMaxLeased), UINT32_MAX / kOne));
    const std::int64_t more =
        saturating_cost(unit.count(), std::min(cost, kMaxLeased));
    full_at = saturating_add(full_at, Duration(more));
  }

  // Learns that the last bucket was to be full at `found`, before it was
  // charged for `own` units.
  void see_others(Instant now, Instant found, Duration unit, std::int64_t own);

  // A part of what is free for each process, and half of that for requests
  // without a lease, of which there are few where processes deny ahead.
  std::int64_t parts(bool ahead) const {
    return std::clamp<std::int64_t>(
        (ahead ? 1 : 2) * std::int64_t{processes} / kOne, 2, kMaxLeaseParts);
  }
};

inline void LeaseSlot::count(Instant now, Duration lease, std::int64_t cost) {
  const Duration passed = saturating_sub(now, since);
  if (passed >= lease) {
    const auto rate = [&](std::uint32_t counted, std::uint32_t before) {
      const auto seen = static_cast<std::uint32_t>(
          mul_div(std::int64_t{counted} * kOne, lease.count(), passed.count()));
      // What was long ago says nothing.
      return before == 0 || passed >= 4 * lease
                 ? seen
                 : static_cast<std::uint32_t>(
                       (std::uint64_t{before} * 3 + seen) / 4);
    };
    request_rate = rate(requests, request_rate);
    unit_rate = rate(units, unit_rate);
    requests = 0;
    units = 0;
    since = now;
  }
  constexpr std::uint32_t kMost = UINT32_MAX / kOne;
  requests = std::min(requests + 1, kMost);
  units = static_cast<std::uint32_t>(
      std::min<std::int64_t>(units + std::min(cost, kMaxLeased), kMost));
}

inline bool LeaseSlot::take(Instant now, std::int64_t cost) {
  if (units_at(now) < cost) return false;
  for (Held& one : held) {
    if (one.end <= now) continue;
    const std::int64_t here = std::min(one.units, cost);
    one.units -= here;
    cost -= here;
  }
  return true;
}

inline void LeaseSlot::add(Instant now, const Held& grant) {
  const auto is_empty = [now](const Held& one) {
    return one.units == 0 || one.end <= now;
  };
  if (is_empty(held[0])) {
    held[0] = held[1];
    held[1] = {};
  }
  if (is_empty(held[0])) {
    held[0] = grant;
  } else if (is_empty(held[1])) {
    held[1] = grant;
  } else {
    held[1] = {std::min(held[1].end, grant.end), held[1].units + grant.units};
  }
}

inline void LeaseSlot::see_others(Instant now, Instant found, Duration unit,
                                  std::int64_t own) {
  // If the bucket may have been full in between, it tells nothing.
  if (full_at > now && taken > 0) {
    const std::int64_t others = std::clamp<std::int64_t>(
        saturating_sub(found, full_at) / unit, 0, kMaxLeaseParts * taken);
    const std::int64_t seen = kOne + others * kOne / taken;
    processes =
        static_cast<std::uint32_t>((std::int64_t{processes} * 3 + seen) / 4);
  }
  full_at = found;
  taken = 0;
  add_taken(own, unit);
}

}  // namespace limitree
