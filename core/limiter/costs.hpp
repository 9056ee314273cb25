// What a request costs, and what that means for the levels of its plan.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>

#include "base/hold.hpp"
#include "base/limit.hpp"
#include "base/plan.hpp"
#include "base/status.hpp"
#include "tree/tree.hpp"

namespace limitree {

// A path, and the tokens to take along it.
struct PathCost {
  Path path;
  std::int64_t cost = 1;
  Part part = Part::kCharge;
};

// The units of one kind to take: see Limit::unit.
struct UnitCost {
  std::string_view unit;
  std::int64_t units = 0;
};

// What a request costs: along each path, whose cost is in kRequestUnit, and on
// all paths in other units.  A settlement charges kAsHeld, and units that it
// does not name, as they were held.
struct Costs {
  Costs(std::span<const PathCost> all_paths,  // NOLINT: implicit
        std::span<const UnitCost> other_units = {},
        const Reservation& reserved = {})
      : paths(all_paths), units(other_units), reservation(reserved) {}

  std::span<const PathCost> paths;
  std::span<const UnitCost> units;
  Reservation reservation;  // of kReserve, kSettle and kExtend
  bool cancels = false;     // a kSettle that charges nothing
};

// kInvalidArgument if this is too many paths for one request.  For callers that
// would copy the paths first.
Status check_path_count(std::size_t paths);

// Bytes of one segment of a path.  Hashing more would take longer than any
// caller intends.
inline constexpr std::size_t kMaxPathBytes = std::size_t{1} << 26;

// Whether `path_cost` is valid.
inline bool acceptable(const PathCost& path_cost, std::int64_t least_cost = 0) {
  std::size_t longest = 0;
  for (const std::string_view segment : path_cost.path) {
    longest = std::max(longest, segment.size());
  }
  return path_cost.cost >= least_cost && longest <= kMaxPathBytes;
}

// Returns why it is not.
Status refuse_path(const PathCost& path_cost);

// The error of a request whose first paths meet so many levels.
Status too_many_levels(std::span<const PathCost> path_costs, std::size_t path,
                       std::size_t levels);

// How many limits have each unit.
using UnitCounts = std::map<std::string_view, std::size_t>;

// What costs depend on besides the levels.
struct Counted {
  const UnitCounts& units;  // of all limits, but kRequestUnit
  bool has_slots;           // some are Algorithm::kConcurrent
};

// Sets the costs of levels that count denials; leaves these levels out where no
// request can be denied.
void plan_denials(Plan* plan);

// Sets the costs of levels that count other units, and all that a reservation
// or a settlement is about.  kInvalidArgument as Limiter::decide().
Status set_costs(const Counted& counted, const Costs& costs, Plan* plan);

// Whether set_costs() has nothing to do.
inline bool is_simple(const Counted& counted, const Costs& costs,
                      Operation operation) {
  return counted.units.empty() && costs.units.empty() && !counted.has_slots &&
         operation <= Operation::kLook;
}

}  // namespace limitree
