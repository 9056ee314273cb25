// What the decision of a store means for one rule of a request: whether it is
// over its limit, what is left, and what statistics count.

#ifndef LIMITREE_DESCRIPTORS_OUTCOME_HPP
#define LIMITREE_DESCRIPTORS_OUTCOME_HPP

#include <array>
#include <cstdint>

#include "base/plan.hpp"
#include "base/share.hpp"
#include "base/time.hpp"

namespace limitree {

struct RuleHit;  // rule_hits.hpp

// Statistics of hits, with the names of envoyproxy/ratelimit.
struct HitTally {
  std::int64_t total_hits = 0;
  std::int64_t over_limit = 0;
  std::int64_t near_limit = 0;
  std::int64_t over_limit_with_local_cache = 0;
  std::int64_t within_limit = 0;
  std::int64_t shadow_mode = 0;
  std::int64_t total_negative_hits = 0;
  std::int64_t domain_not_found = 0;

  HitTally& operator+=(const HitTally& other);
};

inline constexpr std::array kHitFields = {
    &HitTally::total_hits,          &HitTally::over_limit,
    &HitTally::near_limit,          &HitTally::over_limit_with_local_cache,
    &HitTally::within_limit,        &HitTally::shadow_mode,
    &HitTally::total_negative_hits, &HitTally::domain_not_found,
};

// One rule, after the decision.
struct RuleOutcome {
  bool over = false;
  bool cached = false;  // known without asking the store
  bool soft = false;    // fits thanks to an overrun
  std::int64_t capacity = 0;
  std::int64_t ceiling = 0;  // with the overrun
  std::int64_t before = 0;   // in use without this hit; may be negative, if the
                             // hit was not counted
  std::int64_t after = 0;    // in use now
  std::int64_t remaining = 0;
  Duration retry_after = kNotLimited;
  Duration reset_after{};
  Duration until_reset{};  // for Envoy: the wait if over, else the reset
};

// `level` is the level of `hit`, judged; `cached`: from OverCache::Known.
RuleOutcome outcome_of(const RuleHit& hit, const Level& level, const Plan& plan,
                       bool cached);

// Whether the hits of a judged level were added to its counter: not if another
// rule has stopped that.
constexpr bool is_counted(const Level& level) {
  return level.applied && level.cost > 0;
}

// Of a rule that denies everything.
RuleOutcome denied_outcome(const RuleHit& hit, Instant now);

// From how much on a limit of `capacity` counts as nearly used up.  In 32 bits,
// as envoyproxy/ratelimit computes it, so that statistics are the same.
std::int64_t near_limit_of(std::int64_t capacity, Share share);

HitTally tally_of(const RuleHit& hit, const RuleOutcome& outcome,
                  Share near_limit);

}  // namespace limitree

#endif  // LIMITREE_DESCRIPTORS_OUTCOME_HPP
