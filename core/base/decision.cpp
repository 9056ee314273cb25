#include "base/decision.hpp"

#include <algorithm>

namespace limitree {

namespace {

// Whether `level` binds rather than `best`, which comes before it.
bool binds(const Level& level, const Level& best) {
  const Verdict& ours = level.verdict;
  const Verdict& theirs = best.verdict;
  if (ours.limited != theirs.limited) return ours.limited;
  // A limited level waits next_after == retry_after, so one order serves both
  // pools.
  if (ours.next_after != theirs.next_after) {
    return ours.next_after > theirs.next_after;
  }
  return ours.remaining <= theirs.remaining;
}

std::int64_t ceil_seconds(Duration time) {
  return std::chrono::ceil<std::chrono::seconds>(time).count();
}

}  // namespace

Decision aggregate(const Plan& plan) {
  Decision decision;
  decision.level_count = static_cast<std::int32_t>(plan.levels.size());
  const Level* binding = nullptr;
  Duration charged_wait = Duration::zero();  // of levels a denial charged
  for (const Level& level : plan.levels) {
    const Verdict& verdict = level.verdict;
    // A refund tells of every level that it gave back to.
    if (level.limit->mode == Mode::kShadow &&
        plan.operation != Operation::kRefund) {
      decision.shadowed |= verdict.limited;
      continue;
    }
    decision.unlimited = false;
    decision.limited |= verdict.limited;
    decision.retry_after = std::max(decision.retry_after, verdict.retry_after);
    decision.reset_after = std::max(decision.reset_after, verdict.reset_after);
    decision.next_after = std::max(decision.next_after, verdict.next_after);
    if (level.applied) {
      charged_wait = std::max(charged_wait, verdict.next_after);
    }
    if (binding == nullptr || binds(level, *binding)) binding = &level;
  }
  if (binding == nullptr) return decision;

  // Independent levels were charged by the denied request itself, so the wait
  // for their next token is part of the wait for the next attempt.
  if (decision.limited) {
    decision.retry_after = std::max(decision.retry_after, charged_wait);
  }
  decision.limit = binding->limit->rate.capacity;
  decision.remaining = binding->verdict.remaining;
  decision.binding = static_cast<std::int32_t>(binding - plan.levels.begin());
  return decision;
}

Cell to_cell(const Decision& decision) {
  const bool wait = decision.limited && decision.retry_after != kNever;
  return {decision.limited ? 1 : 0, decision.limit, decision.remaining,
          wait ? ceil_seconds(decision.retry_after) : -1,
          ceil_seconds(decision.reset_after)};
}

}  // namespace limitree
