#include "base/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/key.hpp"

namespace limitree {
namespace {

using Kind = Segment::Kind;

// Two paths, user:alex:trade and user:<second>:trade, with a level each.
void fill(Plan* plan, const Limit& first, const Limit& second,
          Segment second_user, std::int64_t second_cost) {
  for (const Segment segment :
       {Segment{"user", Kind::kExact}, Segment{"alex", Kind::kCaller},
        Segment{"user", Kind::kExact}, second_user}) {
    plan->segments.push_back(segment);
  }
  plan->add_level(&first, 0u, 2u, 1);
  plan->add_level(&second, 2u, 2u, second_cost);
}

TEST(SaturatingCost, IsTheProductOrTheLargestNumber) {
  EXPECT_EQ(saturating_cost(3, 4), 12);
  EXPECT_EQ(saturating_cost(INT64_MAX, 0), 0);
  EXPECT_EQ(saturating_cost(INT64_MAX, 2), INT64_MAX);
}

TEST(SaturatingSum, IsTheSumOrTheLargestNumber) {
  EXPECT_EQ(saturating_sum(3, 4), 7);
  EXPECT_EQ(saturating_sum(INT64_MAX, 0), INT64_MAX);
  EXPECT_EQ(saturating_sum(1, INT64_MAX), INT64_MAX);
}

// Of levels that count every hit, both hits count.
TEST(JoinSameBuckets, AddsTheCostsOfHits) {
  const Limit limit = make_counter(5, std::chrono::minutes(1));
  const Limit other;
  Plan plan(Operation::kAuthorize);
  plan.segments.emplace_back("ip", Kind::kExact);
  plan.add_level(&other, 0u, 1u, 1);
  fill(&plan, limit, limit, {"alex", Kind::kExact}, 3);
  for (Level& level : plan.levels) level.first += level.limit == &limit;
  fill(&plan, limit, other, {"kate", Kind::kExact}, INT64_MAX);
  plan.levels[3].first = 1;
  plan.levels[4].first = 7;
  JoinedInto into;
  ASSERT_TRUE(join_same_buckets(&plan, &into).ok());
  ASSERT_EQ(plan.levels.size(), 3u);
  EXPECT_EQ(plan.levels[0].cost, 1);
  EXPECT_EQ(plan.levels[1].cost, 5);
  EXPECT_EQ(plan.levels[2].cost, INT64_MAX);
  EXPECT_EQ(std::vector<std::uint32_t>(into.begin(), into.end()),
            (std::vector<std::uint32_t>{0, 1, 1, 1, 2}));
}

// What denies by itself is compared by itself.
TEST(JoinSameBuckets, KeepsLevelsApartThatMayDenyAlone) {
  Limit limit = make_counter(5, std::chrono::minutes(1));
  limit.charge = Charge::kAllOrDenying;
  for (const Operation operation : {Operation::kAuthorize, Operation::kPeek,
                                    Operation::kSpend, Operation::kRefund}) {
    Plan plan(operation);
    fill(&plan, limit, limit, {"alex", Kind::kExact}, 3);
    JoinedInto into;
    ASSERT_TRUE(join_same_buckets(&plan, &into).ok());
    EXPECT_EQ(std::vector<std::uint32_t>(into.begin(), into.end()),
              (std::vector<std::uint32_t>{0, 0}));
    const bool apart =
        operation == Operation::kAuthorize || operation == Operation::kPeek;
    ASSERT_EQ(plan.levels.size(), apart ? 2u : 1u);
    EXPECT_FALSE(plan.levels[0].again);
    EXPECT_EQ(plan.levels.back().again, apart);
  }
}

TEST(JoinSameBuckets, KeepsOneLevelWithTheLargerCost) {
  const Limit limit;
  Plan plan(Operation::kAuthorize);
  fill(&plan, limit, limit, {"alex", Kind::kExact}, 3);
  ASSERT_TRUE(join_same_buckets(&plan).ok());
  ASSERT_EQ(plan.levels.size(), 1u);
  EXPECT_EQ(plan.levels[0].cost, 3);
  EXPECT_EQ(plan.levels[0].first, 0u);
}

TEST(JoinSameBuckets, KeepsBucketsOfOtherNames) {
  const Limit limit;
  Limit daily;
  daily.suffix = "#daily";
  Plan callers(Operation::kAuthorize);
  fill(&callers, limit, limit, {"kate", Kind::kCaller}, 1);
  ASSERT_TRUE(join_same_buckets(&callers).ok());
  EXPECT_EQ(callers.levels.size(), 2u);

  Plan limits(Operation::kAuthorize);
  fill(&limits, limit, daily, {"alex", Kind::kCaller}, 1);
  ASSERT_TRUE(join_same_buckets(&limits).ok());
  EXPECT_EQ(limits.levels.size(), 2u);

  // A pattern that reads like a caller is another bucket.
  Plan patterns(Operation::kAuthorize);
  fill(&patterns, limit, limit, {"alex", Kind::kPattern}, 1);
  ASSERT_TRUE(join_same_buckets(&patterns).ok());
  EXPECT_EQ(patterns.levels.size(), 2u);
}

TEST(JoinSameBuckets, RefusesOneBucketWithTwoLimits) {
  Limit first;
  first.policy = "ip:2001*";
  Limit second;
  second.policy = "ip:*";
  Plan plan(Operation::kAuthorize);
  fill(&plan, first, second, {"alex", Kind::kCaller}, 1);
  const Status status = join_same_buckets(&plan);
  ASSERT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.error().messages.at(0),
            "two paths reach the same bucket by different limits, ip:2001* "
            "and ip:*");
}

// A counter of hits serves both limits, if their windows are the same.  Whoever
// asks whether it is over means the larger one.
TEST(JoinSameBuckets, JoinsCountersOfTwoLimits) {
  Limit three = make_counter(3, std::chrono::seconds(60));
  Limit nine = make_counter(9, std::chrono::seconds(60));
  Plan plan(Operation::kAuthorize);
  fill(&plan, three, nine, {"alex", Kind::kCaller}, 1);
  ASSERT_TRUE(join_same_buckets(&plan).ok());
  ASSERT_EQ(plan.levels.size(), 1U);
  EXPECT_EQ(plan.levels[0].limit, &nine);
  EXPECT_EQ(plan.levels[0].cost, 2);

  Plan turned(Operation::kAuthorize);
  fill(&turned, nine, three, {"alex", Kind::kCaller}, 1);
  ASSERT_TRUE(join_same_buckets(&turned).ok());
  EXPECT_EQ(turned.levels[0].limit, &nine);

  nine.period = std::chrono::seconds(61);
  Plan other(Operation::kAuthorize);
  fill(&other, three, nine, {"alex", Kind::kCaller}, 1);
  EXPECT_EQ(join_same_buckets(&other).code(), Code::kInvalidArgument);
}

// So many that they are sorted: levels stay in the order of the paths, each
// where it was first met, as with few levels.
TEST(JoinSameBuckets, JoinsManyAsItJoinsFew) {
  Limit limit;
  Limit daily;
  daily.suffix = "#daily";
  for (const std::uint32_t count : {4u, 24u, 25u, 1000u}) {
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i < count; ++i) {
      names.push_back("caller" + std::to_string(i * 7 % (count / 2)));
    }
    Plan plan(Operation::kAuthorize);
    for (std::uint32_t i = 0; i < count; ++i) {
      plan.segments.emplace_back("user", Kind::kExact);
      plan.segments.emplace_back(names[i],
                                 i % 5 == 0 ? Kind::kPattern : Kind::kCaller);
      plan.add_level(i % 3 == 0 ? &daily : &limit, 2 * i, 2u, i + 1);
      plan.levels.back().path = i;
    }
    // The same by hand.
    std::vector<std::pair<std::string, Level>> expected;
    for (const Level& level : plan.levels) {
      const std::string bucket =
          bucket_name(plan, level) + (level.path % 5 == 0 ? " by pattern" : "");
      const auto same =
          std::find_if(expected.begin(), expected.end(),
                       [&](const auto& one) { return one.first == bucket; });
      if (same == expected.end()) {
        expected.emplace_back(bucket, level);
      } else {
        same->second.cost = level.cost;  // which grows
      }
    }
    Plan before(plan.operation);
    for (const Level& level : plan.levels) before.levels.push_back(level);
    JoinedInto into;
    ASSERT_TRUE(join_same_buckets(&plan, &into).ok());
    ASSERT_EQ(plan.levels.size(), expected.size());
    ASSERT_EQ(into.size(), count);
    for (std::uint32_t i = 0; i < count; ++i) {
      EXPECT_EQ(bucket_name(plan, plan.levels[into[i]]),
                bucket_name(plan, before.levels[i]));
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(plan.levels[i].path, expected[i].second.path);
      EXPECT_EQ(plan.levels[i].cost, expected[i].second.cost);
    }
  }
}

TEST(JoinSameBuckets, RefusesOneBucketWithTwoLimitsAmongMany) {
  Limit first;
  first.policy = "ip:2001*";
  Limit second;
  second.policy = "ip:*";
  Plan plan(Operation::kAuthorize);
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < 100; ++i) {
    names.push_back("caller" + std::to_string(i));
  }
  for (std::uint32_t i = 0; i < 100; ++i) {
    fill(&plan, first, second, {"alex", Kind::kCaller}, 1);
    plan.segments.emplace_back(names[i], Kind::kCaller);
    plan.add_level(&first, 5 * i + 4, 1u, 1);
  }
  EXPECT_EQ(join_same_buckets(&plan).code(), Code::kInvalidArgument);
}

TEST(Keep, HoldsTextsAsLongAsThePlan) {
  Plan plan(Operation::kAuthorize);
  const std::string_view first = plan.keep("2001:db8::/64");
  for (int i = 0; i < 100; ++i) plan.keep(std::to_string(i));
  EXPECT_EQ(first, "2001:db8::/64");
}

}  // namespace
}  // namespace limitree
