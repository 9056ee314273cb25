#include "descriptors/rule_hits.hpp"

#include <algorithm>

namespace limitree {

namespace {

// The level of that number, or nullptr.  Levels are in the order of numbers.
const Level* find_level(std::span<const Level> levels, std::uint32_t number) {
  const auto found = std::ranges::lower_bound(levels, number, {}, &Level::path);
  return found != levels.end() && found->path == number ? &*found : nullptr;
}

}  // namespace

Status RuleHits::add(const MatchedRequest& matched, Plan* plan) {
  const bool refunds = plan->operation == Operation::kRefund;
  const std::size_t first = hits_.size();
  add_hits(matched, refunds);
  all_or_nothing_ =
      matched.domain() != nullptr && matched.domain()->all_or_nothing;
  if (hits_.size() == first) return {};
  matched.add_levels(refunds, plan);
  const bool denied = drop_denying(first, plan);
  if (Status status = join(first, plan); !status.ok()) return status;
  if (denied && all_or_nothing_) {
    plan->operation = Operation::kPeek;
  } else {
    plan->denied = denied;
  }
  return {};
}

void RuleHits::add_hits(const MatchedRequest& matched, bool refunds) {
  for (std::uint32_t i = 0; i < matched.descriptors().size(); ++i) {
    const MatchedDescriptor& found = matched.descriptors()[i];
    if (found.fate != Fate::kLimited || found.refund != refunds) continue;
    for (std::uint32_t k = 0; k < found.rule_count; ++k) {
      const Rule& rule = matched.rule(i, k);
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

// A level counts towards the charging of others, or does not.  Where each level
// is charged by itself that is all one, and scripts know the fewer variants.
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

// A hit comes after those before it that were added to its bucket.
void RuleHits::judge(const Plan& plan, std::span<const Level> known) {
  const bool refunds = plan.operation == Operation::kRefund;
  const std::span<const Level> asked(plan.levels.begin(), plan.levels.end());
  std::ranges::fill(added_, 0);
  for (RuleHit& hit : hits_) {
    if (hit.level == RuleHit::kNoLevel || hit.refund != refunds) continue;
    const Level* level = find_level(asked, hit.level);
    const bool cached = level == nullptr;
    if (cached) level = find_level(known, hit.level);
    hit.earlier = added_[hit.bucket];
    hit.outcome = outcome_of(hit, *level, plan, cached);
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

void RuleHits::stop_all(Plan* plan) {
  if (plan->operation != Operation::kAuthorize) return;
  if (all_or_nothing_) {
    plan->operation = Operation::kPeek;
    return;
  }
  for (Level& level : plan->levels) {
    if (is_joint(level.limit->charge)) level.cost = 0;
  }
}

}  // namespace limitree
