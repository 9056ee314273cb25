// What a process tells its callers when it decides in place of the store.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/gcra.hpp"
#include "base/judge.hpp"
#include "base/plan.hpp"
#include "base/time.hpp"
#include "store/decorators/lease_slot.hpp"

namespace limitree {

// What a level answers if its bucket owes `debt` before a request that was
// charged for long ago.
inline Verdict plain_answer(const Level& level, Duration debt) {
  const Rate& rate = level.limit->rate;
  const Probe found = probe(rate, debt, level.cost);
  Verdict answer = verdict(rate, found, debt_after_spend(rate, found));
  answer.limited = false;
  answer.charged = true;
  answer.retry_after = kNotLimited;
  return answer;
}

inline Verdict window_answer(const Level& level, std::int64_t used,
                             Duration left) {
  const std::int64_t capacity = level.limit->rate.capacity;
  return {
      .limited = false,
      .charged = true,
      .soft = false,
      .remaining = std::max(capacity - used, std::int64_t{0}),
      .retry_after = kNotLimited,
      .reset_after = left,
      .next_after = used + level.cost > capacity ? left : Duration::zero(),
  };
}

// Sets the verdicts to what the store would say if nobody else came.
inline void allow_by_lease(LeaseSlot* slot, Instant now, Plan* plan) {
  for (std::size_t i = 0; i < plan->levels.size(); ++i) {
    Level& level = plan->levels[i];
    const Duration left =
        std::max(saturating_sub(slot->ends[i], now), Duration::zero());
    if (level.limit->is_plain()) {
      level.debt = left;
      level.verdict = plain_answer(level, left);
      slot->ends[i] = saturating_add(now, level.verdict.reset_after);
    } else {
      const std::int64_t used = std::min(slot->used[i] + level.cost, kMaxUnits);
      level.before = slot->used[i];
      level.verdict = window_answer(level, used, left);
      level.growth = left;
      slot->used[i] = static_cast<std::uint32_t>(used);
    }
    level.applied = true;
  }
  plan->source = Source::kLease;
}

// Says in the verdict of the scarce level when this process asks the store
// again, if it will deny an identical request until then.
inline void note_denial(const LeaseSlot& slot, Instant now, std::int64_t units,
                        Plan* plan) {
  if (!slot.denies(now, units)) return;
  const Duration wait = saturating_sub(slot.denied_until, now);
  Verdict& verdict = plan->levels[slot.denied].verdict;
  verdict.next_after = std::max(verdict.next_after, wait);
  if (verdict.limited) {
    verdict.retry_after = std::max(verdict.retry_after, wait);
  }
}

// Denies *plan where the store would have denied it, or nearly so.
inline void deny_by_lease(const LeaseSlot& slot, Instant now, Plan* plan) {
  for (std::size_t i = 0; i < plan->levels.size(); ++i) {
    plan->levels[i].debt =
        std::max(saturating_sub(slot.ends[i], now), Duration::zero());
  }
  judge(plan->operation, plan->levels.data(), plan->levels.size(), true);
  Level& level = plan->levels[slot.denied];
  level.verdict.limited = true;
  level.applied = level.verdict.charged = false;
  level.verdict.remaining = std::min(level.verdict.remaining, level.cost - 1);
  plan->source = Source::kLease;
}

}  // namespace limitree
