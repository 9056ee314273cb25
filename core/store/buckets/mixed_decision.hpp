// How a request is decided whose levels are not all plain GCRA, wherever their
// buckets are.

#ifndef LIMITREE_STORE_BUCKETS_MIXED_DECISION_HPP
#define LIMITREE_STORE_BUCKETS_MIXED_DECISION_HPP

#include <cstddef>
#include <utility>

#include "base/judge.hpp"
#include "base/plan.hpp"
#include "base/status.hpp"
#include "store/buckets/mixed_level.hpp"

namespace limitree {

// Writes the charged levels, existing buckets first, because an insert may move
// them.  If an earlier level has written the bucket of a level, the level finds
// what that has left.
template <typename Mixed, typename PlaceOf>
void store_mixed_levels(const MixedRequest& ask, Mixed* mixed,
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

// Evaluates the levels, judges, makes sure of memory, and then stores.  `mixed`
// has a MixedLevel for each level, `place_of(i)` is the place of the i-th, and
// `full()` says what becomes of a request for which there is no memory.
template <typename Mixed, typename PlaceOf, typename Full>
Status decide_mixed_levels(const MixedRequest& ask, Mixed* mixed,
                           PlaceOf place_of, Full full) {
  Plan* const plan = ask.plan;
  const auto give_up = [&](std::size_t count, Status status) {
    for (std::size_t i = 0; i < count; ++i) (*mixed)[i].release(place_of(i));
    return status;
  };
  for (std::size_t i = 0; i < mixed->size(); ++i) {
    Status status =
        (*mixed)[i].evaluate(ask, &plan->levels[i], ask.tags[i], place_of(i));
    if (!status.ok()) return give_up(i, std::move(status));
  }
  judge(plan->operation, plan->levels.data(), mixed->size(), plan->denied);
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

#endif  // LIMITREE_STORE_BUCKETS_MIXED_DECISION_HPP
