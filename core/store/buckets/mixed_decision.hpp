// How a request is decided whose levels are not all plain GCRA, wherever their
// buckets are.

#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/inline_vector.hpp"
#include "base/judge.hpp"
#include "base/plan.hpp"
#include "base/status.hpp"
#include "store/buckets/mixed_level.hpp"

namespace limitree {

// Writes the charged levels, existing buckets first, because an insert may move
// them.  If an earlier level has written the bucket of a level, the level finds
// what that has left.
template <typename Mixed, typename PlaceOf>
[[gnu::always_inline]] inline void store_mixed_levels(const MixedRequest& ask,
                                                      Mixed* mixed,
                                                      PlaceOf place_of) {
  Plan* const plan = ask.plan;
  for (std::size_t i = 0; i < mixed->size(); ++i) {
    const Level& level = plan->levels[i];
    auto& one = (*mixed)[i];
    if (level.verdict.charged) {
      if (one.exists() && !level.again) {
        one.update(level, ask.now, place_of(i));
      }
      continue;
    }
    one.release(place_of(i));
    one.keep(*plan, level, ask.now, place_of(i));
  }
  for (std::size_t i = 0; i < mixed->size(); ++i) {
    Level& level = plan->levels[i];
    if (!level.verdict.charged) continue;
    auto& one = (*mixed)[i];
    const auto place = place_of(i);
    if (level.again) {
      // Never fails: it is a counter.
      [[maybe_unused]] const Status found =
          one.evaluate(ask, &level, ask.tags[i], place);
      if (one.exists()) one.update(level, ask.now, place);
    }
    if (!one.exists()) plan->forgot |= one.insert(ask, level, place);
  }
}

// Sets the costs of a plan to those with the units that it leases, and later
// back, with the verdicts of the request alone.
class LeasedCosts {
 public:
  explicit LeasedCosts(Plan* plan) : plan_(*plan) {}
  ~LeasedCosts() {
    for (std::size_t i = 0; i < asked_.size(); ++i) plan_.levels[i] = asked_[i];
  }
  LeasedCosts(const LeasedCosts&) = delete;
  LeasedCosts& operator=(const LeasedCosts&) = delete;

  // REQUIRES: the plan was judged.  Returns whether there is a lease: then it
  // is to be judged again.
  bool raise() {
    plan_.lease.granted = 0;
    if (plan_.lease.most <= 0 || !can_lease(plan_)) return false;
    const std::int64_t units = units_to_lease(plan_);
    if (units <= 0) return false;
    plan_.lease.granted = units;
    for (Level& level : plan_.levels) {
      asked_.push_back(level);
      level.cost += units * level.limit->cost;
    }
    return true;
  }

  // Nothing was charged.
  void give_up() {
    if (!asked_.empty()) plan_.lease.granted = 0;
  }

 private:
  Plan& plan_;
  InlineVector<Level, kMaxLeasedLevels> asked_;  // as the request asks
};

// Evaluates the levels, judges, makes sure of memory, and then stores.  `mixed`
// has a MixedLevel for each level, `place_of(i)` is the place of the i-th, and
// `full()` says what becomes of a request for which there is no memory.
template <typename Mixed, typename PlaceOf, typename Full>
[[gnu::always_inline]] inline Status decide_mixed_levels(
    const MixedRequest& ask, Mixed* mixed, PlaceOf place_of, Full full) {
  Plan* const plan = ask.plan;
  LeasedCosts leased(plan);
  const auto give_up = [&](std::size_t count, Status status) {
    leased.give_up();
    for (std::size_t i = 0; i < count; ++i) (*mixed)[i].release(place_of(i));
    return status;
  };
  const auto evaluate_and_judge = [&]() -> Status {
    for (std::size_t i = 0; i < mixed->size(); ++i) {
      Status status =
          (*mixed)[i].evaluate(ask, &plan->levels[i], ask.tags[i], place_of(i));
      if (!status.ok()) return give_up(i, std::move(status));
    }
    if (is_asked(plan->operation)) [[likely]] {
      judge_charge<false>(Operation::kAuthorize, plan->levels.data(),
                          mixed->size(), plan->denied);
    } else {
      judge(plan->operation, plan->levels.data(), mixed->size(), plan->denied);
    }
    return {};
  };
  if (Status status = evaluate_and_judge(); !status.ok()) return status;
  if (leased.raise()) [[unlikely]] {
    for (std::size_t i = 0; i < mixed->size(); ++i) {
      (*mixed)[i].release(place_of(i));
    }
    if (Status status = evaluate_and_judge(); !status.ok()) return status;
  }
  for (std::size_t i = 0; i < mixed->size(); ++i) {
    const Level& level = plan->levels[i];
    if (!level.verdict.charged || (*mixed)[i].exists() ||
        (*mixed)[i].reserve(level, ask.now, place_of(i))) {
      continue;
    }
    Status status = full();
    if (!status.ok()) return give_up(mixed->size(), std::move(status));
  }
  store_mixed_levels(ask, mixed, place_of);
  return {};
}

}  // namespace limitree
