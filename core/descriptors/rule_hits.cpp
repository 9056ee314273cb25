#include "descriptors/rule_hits.hpp"

#include <algorithm>

#include "base/fixed_window.hpp"

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

// A counter reports what it has counted; from that, each hit is judged by
// itself.
void judge_counter(const RuleHit& hit, const Level& level,
                   RuleOutcome* outcome) {
  outcome->after =
      used_after_hit(level, hit.earlier, is_counted(level) ? hit.hits : 0);
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

// All other buckets report what is left.
void judge_bucket(const RuleHit& hit, const Level& level, bool stopped,
                  RuleOutcome* outcome) {
  const Verdict& verdict = level.verdict;
  outcome->over = verdict.limited;
  outcome->soft = verdict.soft;
  outcome->remaining = verdict.remaining;
  if (stopped && level.applied) {
    // The verdict assumes a charge that was not made.
    outcome->remaining = std::min(saturating_sum(verdict.remaining, level.cost),
                                  outcome->capacity);
  }
  outcome->retry_after = verdict.retry_after;
  outcome->reset_after = verdict.reset_after;
  outcome->until_reset = verdict.limited && verdict.retry_after != kNever
                             ? verdict.retry_after
                             : verdict.reset_after;
  // Hits that do not fit are not in use: all of them count as above the limit.
  outcome->before = verdict.limited
                        ? outcome->ceiling
                        : outcome->capacity - outcome->remaining - hit.hits;
  outcome->after = verdict.limited ? saturating_sum(outcome->before, hit.hits)
                                   : outcome->before + hit.hits;
}

// The level of that number, or nullptr.  Levels are in the order of numbers.
const Level* find_level(std::span<const Level> levels, std::uint32_t number) {
  const auto found = std::ranges::lower_bound(levels, number, {}, &Level::path);
  return found != levels.end() && found->path == number ? &*found : nullptr;
}

}  // namespace

RuleOutcome outcome_of(const RuleHit& hit, const Level& level, const Plan& plan,
                       HitAnswer how) {
  const Limit& limit = limit_of(hit, plan);
  RuleOutcome outcome;
  outcome.cached = how.cached;
  outcome.capacity = limit.rate.capacity;
  outcome.ceiling = ceiling_of(limit, plan.pressure);
  if (counts_denied(limit.charge) && !hit.refund) {
    judge_counter(hit, level, &outcome);
  } else {
    judge_bucket(hit, level, how.stopped, &outcome);
  }
  // Substitutes for a store do not know windows: they give a wait.
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

Status RuleHits::add(const MatchedRequest& matched, Plan* plan) {
  const Act act = act_of(plan->operation);
  if (act != Act::kTake && !matched.has_refunds()) return {};
  const std::size_t first = hits_.size();
  add_hits(matched, act);
  all_or_nothing_ =
      matched.domain() != nullptr && matched.domain()->all_or_nothing;
  if (hits_.size() == first) return {};
  matched.add_levels(plan);
  if (!matched.hold_name().empty() &&
      plan->operation == Operation::kAuthorize &&
      std::ranges::any_of(plan->levels, [](const Level& level) {
        return level.limit->holds();
      })) {
    plan->operation = Operation::kReserve;
  }
  const bool denied = drop_denying(first, plan);
  if (Status status = join(first, plan); !status.ok()) return status;
  if (denied && all_or_nothing_) {
    stop(plan);
  } else {
    plan->denied = denied;
  }
  return {};
}

void RuleHits::add_hits(const MatchedRequest& matched, Act act) {
  const bool refunds = act != Act::kTake;
  for (std::uint32_t i = 0; i < matched.descriptors().size(); ++i) {
    const MatchedDescriptor& found = matched.descriptors()[i];
    if (found.match != Match::kLimited || found.refund != refunds) continue;
    for (std::uint32_t k = 0; k < found.rule_count; ++k) {
      const Rule& rule = matched.rule(i, k);
      if (act_of(refunds, rule) != act) continue;
      quotas_ += rule.quota_mode && !refunds ? 1 : 0;
      hits_.push_back(
          {&rule, i, k, RuleHit::kNoLevel, 0, refunds, found.hits, 0, {}});
    }
  }
}

// Takes the levels of rules that deny everything out of *plan, which has one
// for each rule from `first` on, and numbers the others.  Returns whether such
// a rule denies the request.
bool RuleHits::drop_denying(std::size_t first, Plan* plan) {
  bool denied = false;
  std::uint32_t kept = 0;
  for (std::size_t i = 0; i < plan->levels.size(); ++i) {
    RuleHit& hit = hits_[first + i];
    Level& level = plan->levels[i];
    level.mode = mode_of(*hit.rule, *level.limit);
    if (hit.rule->denies_all()) {
      ++denying_;
      denied |= counts(level.mode) && !hit.refund;
      continue;
    }
    hit.level = kept;
    hit.bucket = kept;
    plan->levels[kept++] = level;
  }
  plan->levels.resize(kept);
  return denied;
}

// The mode decides whether a level counts for the charging of others.  If each
// level is charged by itself, modes make no difference, and one mode gives
// fewer variants of scripts.
Mode RuleHits::mode_of(const Rule& rule, const Limit& limit) const {
  if (!is_joint(limit.charge)) return Mode::kEnforce;
  if (rule.shadow_mode) {
    return all_or_nothing_ || stop_ != Stop::kOn ? Mode::kShadow
                                                 : Mode::kEnforce;
  }
  // Where all or nothing is charged, the one quota of a request denies as any
  // other rule does; one of several quotas does not deny.
  const bool may_exceed = all_or_nothing_ && rule.quota_mode && quotas_ > 1;
  return may_exceed ? Mode::kShadow : Mode::kEnforce;
}

// Joins levels with the same bucket, unless they have to stay apart.
Status RuleHits::join(std::size_t first, Plan* plan) {
  InlineVector<Level, 6>& levels = plan->levels;
  if (levels.size() > 1) {
    JoinedInto into;
    Status status = join_same_buckets(plan, &into);
    if (!status.ok()) return status;
    std::uint32_t next = 0;
    for (std::size_t i = first; i < hits_.size(); ++i) {
      RuleHit& hit = hits_[i];
      if (hit.level == RuleHit::kNoLevel) continue;
      hit.bucket = into[hit.level];
      const bool own =
          hit.bucket == next || stay_apart(*plan, hit.rule->limit.charge);
      hit.level = own ? next++ : hit.bucket;
    }
  }
  for (std::uint32_t i = 0; i < levels.size(); ++i) levels[i].path = i;
  while (added_.size() < levels.size()) added_.push_back(0);
  return {};
}

// Each hit is judged after the earlier hits that were added to its bucket.
void RuleHits::judge(const Plan& plan, std::span<const Level> known) {
  const Act act = act_of(plan.operation);
  if (act != Act::kTake && plan.levels.empty()) return;
  const std::span<const Level> levels(plan.levels.begin(), plan.levels.end());
  const bool stopped = stopped_ && plan.operation == Operation::kPeek;
  std::ranges::fill(added_, 0);
  for (RuleHit& hit : hits_) {
    if (hit.level == RuleHit::kNoLevel) continue;
    if (act_of(hit.refund, *hit.rule) != act) continue;
    const Level* level = find_level(levels, hit.level);
    const bool cached = level == nullptr;
    if (cached) level = find_level(known, hit.level);
    hit.earlier = added_[hit.bucket];
    hit.outcome = outcome_of(hit, *level, plan, {cached, stopped});
    if (is_counted(*level)) {
      added_[hit.bucket] = saturating_sum(hit.earlier, hit.hits);
    }
  }
}

void RuleHits::judge_denying(Instant now) {
  for (RuleHit& hit : hits_) {
    if (hit.level == RuleHit::kNoLevel) hit.outcome = denied_outcome(hit, now);
  }
}

void RuleHits::stop(Plan* plan) {
  plan->operation = Operation::kPeek;
  stopped_ = true;
}

void RuleHits::stop_all(Plan* plan) {
  if (stopped_) return;
  if (all_or_nothing_) return stop(plan);
  for (Level& level : plan->levels) {
    if (is_joint(level.limit->charge)) level.cost = 0;
  }
}

}  // namespace limitree
