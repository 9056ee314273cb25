#include "limiter/costs.hpp"

#include <string>
#include <utility>

#include "text/number.hpp"
#include "text/problems.hpp"

namespace limitree {

namespace {

std::string joined(const UnitCounts& units) {
  std::string text;
  for (const auto& [name, count] : units) {
    text.append(text.empty() ? "" : ", ").append(name);
  }
  return text;
}

// Checks the names and the numbers of costs in other units than kRequestUnit.
Status check_units(const UnitCounts& known, std::span<const UnitCost> costs) {
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const std::string_view unit = costs[i].unit;
    const auto same = [unit](const UnitCost& c) { return c.unit == unit; };
    std::string wrong;
    if (unit == kRequestUnit) {
      wrong = "the cost in request is that of each path";
    } else if (!known.contains(unit)) {
      wrong = "no limit counts " + quote(unit) +
              (known.empty() ? "" : ", they count " + joined(known));
    } else if (costs[i].units < 0) {
      wrong = "cost in " + std::string(unit) + " must not be negative, is " +
              std::to_string(costs[i].units);
    } else if (std::ranges::any_of(costs.first(i), same)) {
      wrong = std::string(unit) + " is named twice";
    }
    if (!wrong.empty()) return Status(Code::kInvalidArgument, std::move(wrong));
  }
  return {};
}

Status check_hold_time(Duration hold, Duration least) {
  if (hold >= least && hold <= kMaxHold) return {};
  return Status(Code::kInvalidArgument,
                "hold must be more than 0 and at most " +
                    format_duration(kMaxHold) + ", is " +
                    format_duration(hold));
}

// A request that is over at once holds nothing.
Status check_slots(const Plan& plan) {
  for (const Level& level : plan.levels) {
    if (level.limit->algorithm == Algorithm::kConcurrent && level.cost > 0) {
      return Status(Code::kInvalidArgument,
                    level.limit->policy.str() +
                        " limits what is held at once: reserve its units, and "
                        "settle them");
    }
  }
  return {};
}

// Leaves the levels that can hold, with what to charge at each of them.
void plan_settlement(const Costs& costs, Plan* plan) {
  const auto charges = [&](const Level& level) {
    const Limit& limit = *level.limit;
    if (costs.cancels || plan->operation == Operation::kExtend) {
      return std::int64_t{0};
    }
    std::int64_t units = costs.paths[level.path].cost;
    if (!limit.unit.empty()) {
      const auto named =
          std::ranges::find(costs.units, limit.unit.view(), &UnitCost::unit);
      units = named == costs.units.end() ? kAsHeld : named->units;
    }
    return units == kAsHeld ? kAsHeld : saturating_cost(units, limit.cost);
  };
  keep_levels(plan, [&](Level& level) {
    if (!level.limit->holds()) return false;
    level.cost = charges(level);
    return true;
  });
}

// Sets the costs of levels that count another unit than kRequestUnit.
Status charge_units(std::span<const UnitCost> costs, Plan* plan) {
  for (Level& level : plan->levels) {
    const Limit& limit = *level.limit;
    if (limit.unit.empty()) continue;
    const auto named =
        std::ranges::find(costs, limit.unit.view(), &UnitCost::unit);
    if (named != costs.end()) {
      level.cost = saturating_cost(named->units, limit.cost);
    } else if (level.cost != 0 || !costs.empty()) {  // 0 alone only looks
      return Status(Code::kInvalidArgument, limit.policy.str() + " counts " +
                                                limit.unit.str() +
                                                ", and the request names none");
    }
  }
  return {};
}

}  // namespace

Status check_path_count(std::size_t paths) {
  if (paths <= kMaxPaths) return {};
  return Status(Code::kInvalidArgument, "there are " + std::to_string(paths) +
                                            " paths, the most is " +
                                            std::to_string(kMaxPaths));
}

Status refuse_path(const PathCost& path_cost) {
  if (path_cost.cost < 0) {
    return Status(Code::kInvalidArgument, "cost must not be negative, is " +
                                              std::to_string(path_cost.cost));
  }
  return Status(
      Code::kInvalidArgument,
      "a segment has more than " + std::to_string(kMaxPathBytes) + " bytes");
}

Status too_many_levels(std::span<const PathCost> path_costs, std::size_t path,
                       std::size_t levels) {
  const std::string paths =
      path_costs.size() == 1
          ? "the path meets "
          : "the first " + std::to_string(path + 1) + " of " +
                std::to_string(path_costs.size()) + " paths meet ";
  return Status(Code::kInvalidArgument, paths + std::to_string(levels) +
                                            " limits, the most is " +
                                            std::to_string(kMaxLevels));
}

void plan_denials(Plan* plan) {
  const bool decides =
      is_asked(plan->operation) || plan->operation == Operation::kPeek;
  keep_levels(plan, [decides](Level& level) {
    if (!counts_denials(level.limit->charge)) return true;
    level.cost = level.limit->cost;
    return decides;
  });
}

Status set_costs(const Counted& counted, const Costs& costs, Plan* plan) {
  const Operation operation = plan->operation;
  const bool settles = is_about_hold(operation);
  Status status = check_units(counted.units, costs.units);
  if (status.ok() && !settles) status = charge_units(costs.units, plan);
  if (!status.ok()) return status;
  if (settles || operation == Operation::kReserve) {
    plan->reservation = costs.reservation;
    if (settles) plan_settlement(costs, plan);
    return check_hold_time(costs.reservation.hold,
                           Duration(operation == Operation::kExtend ? 1 : 0));
  }
  const bool ends =
      operation == Operation::kAuthorize || operation == Operation::kSpend;
  return ends && counted.has_slots ? check_slots(*plan) : Status();
}

}  // namespace limitree
