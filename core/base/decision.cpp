#include "base/decision.hpp"

#include <algorithm>

namespace limitree {

namespace {

// Whether `level` binds instead of `best`, which comes before it.
bool binds(const Level& level, const Level& best) {
  const Verdict& ours = level.verdict;
  const Verdict& theirs = best.verdict;
  if (ours.limited != theirs.limited) return ours.limited;
  // In a limited level next_after equals retry_after, so one order serves
  // limited and other levels.
  if (ours.next_after != theirs.next_after) {
    return ours.next_after > theirs.next_after;
  }
  return ours.remaining <= theirs.remaining;
}

}  // namespace

Decision aggregate(const Plan& plan) {
  Decision decision;
  aggregate(plan, &decision);
  return decision;
}

void aggregate_all(const Plan& plan, Decision* out) {
  bool limited = false;
  bool shadowed = false;
  bool soft = false;
  const Level* binding = nullptr;
  Duration retry_after = kNotLimited;
  Duration reset_after = Duration::zero();
  Duration next_after = Duration::zero();
  Duration charged_wait = Duration::zero();  // of charged levels
  for (const Level& level : plan.levels) {
    const Verdict& verdict = level.verdict;
    // A refund reports every level that it gave tokens back to.
    const bool refunded =
        plan.operation == Operation::kRefund && is_charged(level.mode);
    if (!counts(level.mode) && !refunded) {
      shadowed |= verdict.limited;
      continue;
    }
    if (level.applied) {
      charged_wait = std::max(charged_wait, verdict.next_after);
    }
    if (is_silent(level)) continue;
    limited |= verdict.limited;
    soft |= verdict.soft;
    retry_after = std::max(retry_after, verdict.retry_after);
    reset_after = std::max(reset_after, verdict.reset_after);
    next_after = std::max(next_after, verdict.next_after);
    if (binding == nullptr || binds(level, *binding)) binding = &level;
  }
  // Independent levels, and those that count denials, were charged by the
  // denied request itself, so the wait for their next token is part of the wait
  // for the next attempt.
  if (limited) {
    retry_after = std::max(retry_after, charged_wait);
    next_after = std::max(next_after, retry_after);
  }

  out->limited = limited;
  out->unlimited = binding == nullptr;
  out->shadowed = shadowed;
  out->soft = soft && !limited;
  out->forgot = plan.forgot;
  out->source = plan.source;
  out->limit = binding != nullptr ? binding->limit->rate.capacity : -1;
  out->remaining = binding != nullptr ? binding->verdict.remaining : -1;
  out->binding_reset_after =
      binding != nullptr ? binding->verdict.reset_after : Duration::zero();
  out->retry_after = retry_after;
  out->reset_after = reset_after;
  out->next_after = next_after;
  out->binding = binding != nullptr
                     ? static_cast<std::int32_t>(binding - plan.levels.begin())
                     : -1;
  out->level_count = static_cast<std::int32_t>(plan.levels.size());
}

ThrottleReply to_throttle_reply(const Decision& decision) {
  const bool wait = decision.limited && decision.retry_after != kNever;
  return {decision.limited ? 1 : 0, decision.limit, decision.remaining,
          wait ? ceil_seconds(decision.retry_after) : -1,
          ceil_seconds(decision.reset_after)};
}

}  // namespace limitree
