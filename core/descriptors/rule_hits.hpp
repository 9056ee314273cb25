// The rules that a request has met, and which level of which plan answers each.
//
//   MatchedRequest -> RuleHits -> Plan -> a store -> outcome_of() -> Answer
//
// A rule that denies everything has no level: nothing is counted for it.  What
// a request takes, what it gives back and what it settles are plans of their
// own: see Act.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/counts.hpp"
#include "base/inline_vector.hpp"
#include "base/limit.hpp"
#include "base/plan.hpp"
#include "base/status.hpp"
#include "base/time.hpp"
#include "descriptors/request.hpp"

namespace limitree {

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

  HitTally& operator+=(const HitTally& more) { return add_counts(more, this); }
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

// Whether the hits of a judged level were added to its counter: not if another
// rule has stopped that.
constexpr bool is_counted(const Level& level) {
  return level.applied && level.cost > 0;
}

// The use from which a limit of `capacity` counts as nearly used up.  In 32
// bits, as envoyproxy/ratelimit computes it, so that statistics are the same.
std::int64_t near_limit_of(std::int64_t capacity, Share share);

// What happens to the other rules of a request if one is over its limit: the
// option stop_increment.
enum class Stop : std::uint8_t {
  kOff,       // they are charged
  kOn,        // they are not, even if that one is in shadow mode
  kEnforced,  // they are not, unless that one is in shadow mode
};

// One rule of one descriptor.
struct RuleHit {
  static constexpr std::uint32_t kNoLevel = UINT32_MAX;

  const Rule* rule;
  std::uint32_t descriptor;
  std::uint32_t index;   // among the rules of the descriptor that count
  std::uint32_t level;   // of its plan, before any is taken out; or kNoLevel
  std::uint32_t bucket;  // the first of these levels with its bucket
  bool refund;           // gives back, or settles
  std::int64_t hits;     // as requested
  std::int64_t earlier;  // hits of this request added to its bucket before
  RuleOutcome outcome;   // once its plan was decided
};

class RuleHits {
 public:
  explicit RuleHits(Stop stop = Stop::kOff) : stop_(stop) {}

  // Appends the levels of `matched` whose act is that of *plan.  Level::path is
  // set to the number of the level, so that it can be found when others are
  // taken out.  A kAuthorize that meets a limit that holds becomes a kReserve.
  // *plan may be a kPeek: its outcomes are those of a kAuthorize.
  // Fails as join_same_buckets() does.
  Status add(const MatchedRequest& matched, Plan* plan);

  // The levels that an OverCache has taken out of *plan deny the request.  No
  // other level that needs all levels to fit is charged, not even one that
  // denies by itself.
  void stop_all(Plan* plan);

  // Sets the outcomes of the rules of a plan that was decided.  `known` are the
  // levels that an OverCache has taken out of it.
  void judge(const Plan& plan, std::span<const Level> known);

  // Sets the outcomes of rules that deny everything, if there are any.
  bool has_denying() const { return denying_ > 0; }
  void judge_denying(Instant now);

  // In the order in which they were added.
  std::span<const RuleHit> all() const { return {hits_.data(), hits_.size()}; }

 private:
  void add_hits(const MatchedRequest& matched, Act act);
  bool drop_denying(std::size_t first, Plan* plan);
  Mode mode_of(const Rule& rule, const Limit& limit) const;
  Status join(std::size_t first, Plan* plan);
  void stop(Plan* plan);

  const Stop stop_;
  bool all_or_nothing_ = false;  // of the domain
  bool stopped_ = false;         // a plan only looks, because it is denied
  std::uint32_t quotas_ = 0;     // rules in quota mode, of hits
  std::uint32_t denying_ = 0;    // rules that deny everything
  InlineVector<RuleHit, 6> hits_;
  InlineVector<std::int64_t, 6> added_;  // room for judge(): to each bucket
};

// How the level of a hit was decided.
struct HitAnswer {
  bool cached = false;   // from OverCache::CachedLevels
  bool stopped = false;  // in a plan that only looked: nothing is charged
};

// `level` is the level of `hit`, judged.
RuleOutcome outcome_of(const RuleHit& hit, const Level& level, const Plan& plan,
                       HitAnswer how = {});

// The outcome of a rule that denies everything.
RuleOutcome denied_outcome(const RuleHit& hit, Instant now);

HitTally tally_of(const RuleHit& hit, const RuleOutcome& outcome,
                  Share near_limit);

}  // namespace limitree
