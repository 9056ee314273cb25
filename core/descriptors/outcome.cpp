#include "descriptors/outcome.hpp"

#include <algorithm>

#include "base/fixed_window.hpp"
#include "base/hits.hpp"
#include "descriptors/rule_hits.hpp"

namespace limitree {

namespace {

// The limit that decided: if the store failed, that of this process.
const Limit& limit_of(const RuleHit& hit, const Plan& plan) {
  const Limit& limit = hit.rule->limit;
  const bool local = plan.source == Source::kLocal &&
                     plan.local_limits != nullptr &&
                     limit.index != Limit::kNoIndex;
  return local ? plan.local_limits[limit.index] : limit;
}

// A counter tells what it has counted, from which each hit is judged by itself.
void judge_counter(const RuleHit& hit, const Level& level,
                   RuleOutcome* outcome) {
  outcome->after =
      hits_of(level, hit.earlier, is_counted(level) ? hit.hits : 0).after;
  outcome->before = outcome->after - hit.hits;
  outcome->over = outcome->after > outcome->ceiling;
  outcome->soft = !outcome->over && outcome->after > outcome->capacity;
  outcome->remaining =
      std::max(outcome->capacity - outcome->after, std::int64_t{0});
  outcome->reset_after = level.verdict.reset_after;
  outcome->until_reset = outcome->reset_after;
  if (!outcome->over) return;
  const bool never = hit.hits > outcome->ceiling;
  outcome->retry_after = never                   ? kNever
                         : level.verdict.limited ? level.verdict.retry_after
                                                 : outcome->reset_after;
}

// Everything else tells what is left.
void judge_bucket(const RuleHit& hit, const Level& level, bool peeked,
                  RuleOutcome* outcome) {
  const Verdict& verdict = level.verdict;
  outcome->over = verdict.limited;
  outcome->soft = verdict.soft;
  outcome->remaining = verdict.remaining;
  if (peeked && level.applied) {
    // What is told as if it were charged was not.
    outcome->remaining = std::min(saturating_sum(verdict.remaining, level.cost),
                                  outcome->capacity);
  }
  outcome->retry_after = verdict.retry_after;
  outcome->reset_after = verdict.reset_after;
  outcome->until_reset = verdict.limited && verdict.retry_after != kNever
                             ? verdict.retry_after
                             : verdict.reset_after;
  // What does not fit is not in use: it counts as above the limit as a whole.
  outcome->before = verdict.limited
                        ? outcome->ceiling
                        : outcome->capacity - outcome->remaining - hit.hits;
  outcome->after = verdict.limited ? saturating_sum(outcome->before, hit.hits)
                                   : outcome->before + hit.hits;
}

}  // namespace

// Clients choose the numbers of hits.
HitTally& HitTally::operator+=(const HitTally& other) {
  for (const auto field : kHitFields) {
    this->*field = saturating_sum(this->*field, other.*field);
  }
  return *this;
}

RuleOutcome outcome_of(const RuleHit& hit, const Level& level, const Plan& plan,
                       bool cached) {
  const Limit& limit = limit_of(hit, plan);
  RuleOutcome outcome;
  outcome.cached = cached;
  outcome.capacity = limit.rate.capacity;
  outcome.ceiling = ceiling_of(limit, plan.pressure);
  if (counts_denied(limit.charge) && !hit.refund) {
    judge_counter(hit, level, &outcome);
  } else {
    judge_bucket(hit, level, plan.operation == Operation::kPeek, &outcome);
  }
  // Substitutes of a store know no window: they name a wait.
  if (plan.source == Source::kDeny && outcome.over &&
      outcome.retry_after != kNever) {
    outcome.until_reset = outcome.retry_after;
  }
  return outcome;
}

RuleOutcome denied_outcome(const RuleHit& hit, Instant now) {
  RuleOutcome outcome;
  outcome.over = !hit.refund;
  outcome.after = hit.hits;
  outcome.retry_after = hit.refund ? kNotLimited : kNever;
  outcome.reset_after =
      saturating_sub(epoch_window(now, hit.rule->limit.period).end, now);
  outcome.until_reset = outcome.reset_after;
  return outcome;
}

std::int64_t near_limit_of(std::int64_t capacity, Share share) {
  const float ratio =
      static_cast<float>(share.part) / static_cast<float>(share.whole);
  return static_cast<std::int64_t>(static_cast<float>(capacity) * ratio);
}

HitTally tally_of(const RuleHit& hit, const RuleOutcome& outcome,
                  Share near_limit) {
  HitTally tally;
  const std::int64_t hits = hit.hits;
  if (hit.refund) {
    tally.total_negative_hits = hits;
    return tally;
  }
  const std::int64_t near = near_limit_of(outcome.capacity, near_limit);
  tally.total_hits = hits;
  if (outcome.cached) {
    tally.over_limit = hits;
    tally.over_limit_with_local_cache = hits;
  } else if (!outcome.over) {
    tally.within_limit = hits;
    if (outcome.after > near) {
      tally.near_limit = outcome.after - std::max(near, outcome.before);
    }
  } else if (outcome.before >= outcome.ceiling) {
    tally.over_limit = hits;
  } else {
    tally.over_limit = outcome.after - outcome.ceiling;
    // In 32 bits the near limit may be above the limit.
    tally.near_limit = std::max(
        outcome.ceiling - std::max(near, outcome.before), std::int64_t{0});
  }
  if (outcome.over && hit.rule->shadow_mode) {
    tally.shadow_mode = tally.over_limit;
  }
  return tally;
}

}  // namespace limitree
