// What the product decides about buckets, with numbers in place of stores.
//
// All is its own code: the limits are made as limits.yaml makes them, judge()
// decides, and units are leased as a store in memory leases them.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/demand.hpp"
#include "base/fixed_window.hpp"
#include "base/judge.hpp"
#include "base/lease.hpp"
#include "base/plan.hpp"
#include "store/buckets/mixed_decision.hpp"

namespace limitree::model {

inline constexpr std::size_t kLevels = 2;

// A limit of `count` units; times are in ticks.
struct LevelShape {
  std::int64_t count;
  std::int64_t interval;    // of gcra: until one unit drains
  std::int64_t lease;       // 0: none
  std::int64_t window = 0;  // of fixed_window, in place of `interval`
  std::int64_t cost = 1;    // of the limit
};

// What a bucket owes in ticks, or how many units its window has.
using Debts = std::array<std::int8_t, kLevels>;

class Arithmetic {
 public:
  // All levels of one path.
  explicit Arithmetic(const std::vector<LevelShape>& levels) {
    for (const LevelShape& level : levels) {
      Limit& limit = limits_.emplace_back();
      limit.cost = level.cost;
      limit.lease = Duration(level.lease);
      limit.rate = {Duration(std::max<std::int64_t>(1, level.interval)),
                    level.count};
      if (level.window > 0) {
        limit.algorithm = Algorithm::kFixedWindow;
        limit.period = Duration(level.window);
        limit.rules = std::make_shared<Rules>();
        window_ = level.window;
      } else if (level.lease > 0) {
        limit.rate.capacity = leased_capacity(limit.rate, limit.lease);
      }
    }
  }

  std::size_t levels() const { return limits_.size(); }
  std::int64_t window() const { return window_; }  // 1: there is none

  std::int64_t longest_lease() const {
    std::int64_t longest = 0;
    for (const Limit& limit : limits_) {
      longest = std::max<std::int64_t>(longest, limit.lease.count());
    }
    return longest;
  }

  struct Answer {
    bool allowed;
    std::int64_t leased;  // units besides the cost
    std::int64_t lasts;   // how long, from before the request was sent
  };

  // Decides a request that takes up to `most` units besides its own.
  Answer decide(std::int64_t cost, std::int64_t most, std::int64_t phase,
                Debts* debts) const {
    Plan plan(Operation::kAuthorize);
    plan.lease.most = most;
    plan.lease.parts = 1;
    for (const Limit& limit : limits_) {
      plan.add_level(&limit, 0, 0, saturating_cost(cost, limit.cost));
    }
    LeasedCosts leased(&plan);
    judge_now(phase, *debts, &plan);
    const bool allowed = std::ranges::none_of(
        plan.levels, [](const Level& level) { return level.verdict.limited; });
    std::int64_t lasts = longest_lease();
    for (const Level& level : plan.levels) {
      lasts = std::min(lasts, valid_for(level.limit->lease).count());
      if (!level.limit->is_plain()) {
        lasts = std::min(lasts, level.verdict.reset_after.count());
      }
    }
    if (leased.raise()) judge_now(phase, *debts, &plan);
    for (std::size_t i = 0; i < plan.levels.size(); ++i) {
      const Level& level = plan.levels[i];
      if (!level.verdict.charged) continue;
      (*debts)[i] = static_cast<std::int8_t>(
          level.limit->is_plain()
              ? level.verdict.reset_after.count()
              : level.limit->rate.capacity - level.verdict.remaining);
    }
    return {allowed, plan.lease.granted, lasts};
  }

  // One tick passes; in some, a window ends.
  void pass(bool window_ends, Debts* debts) const {
    for (std::size_t i = 0; i < limits_.size(); ++i) {
      std::int8_t& debt = (*debts)[i];
      if (limits_[i].is_plain()) {
        if (debt > 0) --debt;
      } else if (window_ends) {
        debt = 0;
      }
    }
  }

  // What every unit of a request is charged to a level.
  std::int64_t unit_of(std::size_t level) const {
    const Limit& limit = limits_[level];
    return limit.is_plain() ? limit.rate.emission_interval.count() * limit.cost
                            : limit.cost;
  }

 private:
  void judge_now(std::int64_t phase, const Debts& debts, Plan* plan) const {
    const Instant now{Duration(phase)};
    std::array<Usage, kLevels> usages;
    for (std::size_t i = 0; i < plan->levels.size(); ++i) {
      Level& level = plan->levels[i];
      const Limit& limit = *level.limit;
      level.debt = Duration(debts[i]);
      if (limit.is_plain()) continue;
      FixedWindow bucket({Instant(), debts[i]},
                         epoch_window(now, limit.period));
      usages[i] = evaluate({plan->operation, level.cost, limit.rate.capacity,
                            limit.rate.capacity, now, false},
                           &bucket);
      level.usage = &usages[i];
    }
    judge(plan->operation, plan->levels.data(), plan->levels.size());
  }

  std::vector<Limit> limits_;
  std::int64_t window_ = 1;
};

}  // namespace limitree::model
