
#include <gtest/gtest.h>

#include <chrono>

#include "descriptors/rule_hits.hpp"

namespace limitree {
namespace {

constexpr Share kEight{8, 10};

RuleHit hit_of(const Rule& rule, std::int64_t hits) {
  return {&rule, 0, 0, 0, 0, false, hits, 0, {}};
}

// What a counter of 10 counts, if a hit leaves `after` of it in use.
HitTally tally(std::int64_t hits, std::int64_t after, bool shadow = false) {
  Rule rule = window_rule(10, LimitUnit::kMinute);
  rule.shadow_mode = shadow;
  RuleOutcome outcome;
  outcome.capacity = 10;
  outcome.ceiling = 10;
  outcome.after = after;
  outcome.before = after - hits;
  outcome.over = after > 10;
  return tally_of(hit_of(rule, hits), outcome, kEight);
}

// The product is rounded to 32 bits: 90 x 0.7 is 63, with 64 bits just below.
TEST(NearLimit, IsThatOf32Bits) {
  EXPECT_EQ(near_limit_of(10, kEight), 8);
  EXPECT_EQ(near_limit_of(1, kEight), 0);
  EXPECT_EQ(near_limit_of(0, kEight), 0);
  EXPECT_EQ(near_limit_of(5, kEight), 4);
  EXPECT_EQ(near_limit_of(90, {7, 10}), 63);
  EXPECT_EQ(near_limit_of(16'777'217, {1, 1}), 16'777'216);
}

TEST(Tally, BelowTheLimit) {
  EXPECT_EQ(tally(3, 8).near_limit, 0);
  EXPECT_EQ(tally(3, 8).within_limit, 3);
  EXPECT_EQ(tally(3, 9).near_limit, 1);
  EXPECT_EQ(tally(3, 10).near_limit, 2);
  EXPECT_EQ(tally(1, 10).near_limit, 1);
  EXPECT_EQ(tally(3, 10).total_hits, 3);
}

TEST(Tally, AboveTheLimit) {
  EXPECT_EQ(tally(5, 12).over_limit, 2);
  EXPECT_EQ(tally(5, 12).near_limit, 2);
  EXPECT_EQ(tally(5, 12).within_limit, 0);
  EXPECT_EQ(tally(2, 12).over_limit, 2);
  EXPECT_EQ(tally(2, 12).near_limit, 0);
  EXPECT_EQ(tally(2, 20).over_limit, 2);
  EXPECT_EQ(tally(5, 12).shadow_mode, 0);
  EXPECT_EQ(tally(5, 12, true).shadow_mode, 2);
}

// A limit that 32 bits round up to one billion.
TEST(Tally, OfANearLimitAboveTheLimit) {
  const Rule rule = window_rule(999'999'999, LimitUnit::kMinute);
  RuleOutcome outcome;
  outcome.capacity = 999'999'999;
  outcome.ceiling = outcome.capacity;
  outcome.after = UINT32_MAX;
  outcome.over = true;
  const RuleHit hit = hit_of(rule, UINT32_MAX);
  const HitTally tally = tally_of(hit, outcome, {1, 1});
  EXPECT_EQ(tally.near_limit, 0);
  EXPECT_EQ(tally.over_limit, UINT32_MAX - 999'999'999);
  EXPECT_EQ(tally_of(hit, outcome, {0, 1}).near_limit, 999'999'999);
}

// A hit that was stopped was not counted: nothing above `after` is near.
TEST(Tally, OfWhatWasNotCounted) {
  EXPECT_EQ(tally(5, 3).near_limit, 0);
  EXPECT_EQ(tally(20, 9).near_limit, 1);
  EXPECT_EQ(tally(20, 9).within_limit, 20);
}

TEST(Tally, SumsDoNotOverflow) {
  HitTally sum;
  HitTally most;
  most.total_hits = INT64_MAX;
  most.domain_not_found = 1;
  sum += most;
  sum += most;
  EXPECT_EQ(sum.total_hits, INT64_MAX);
  EXPECT_EQ(sum.domain_not_found, 2);
}

// Windows of rules that deny everything end with those of other rules.
TEST(DeniedOutcome, EndsWithItsWindow) {
  const Rule rule = window_rule(0, LimitUnit::kMinute);
  const Instant now{std::chrono::seconds(1'000'000)};
  RuleHit hit = hit_of(rule, 1);
  const RuleOutcome outcome = denied_outcome(hit, now);
  EXPECT_TRUE(outcome.over);
  EXPECT_EQ(outcome.until_reset, std::chrono::seconds(20));
  EXPECT_EQ(outcome.retry_after, kNever);
  hit.refund = true;
  EXPECT_FALSE(denied_outcome(hit, now).over);
  EXPECT_EQ(denied_outcome(hit, now).retry_after, kNotLimited);
}

}  // namespace
}  // namespace limitree
