#include "descriptors/rule.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/descriptors/loaded.hpp"

namespace limitree {
namespace {

// The first rule of a file whose rate_limit is that.
Rule rule_of(const std::string& rate_limit) {
  const Descriptors made = loaded(
      "domain: d\ndescriptors: [{key: a, rate_limit: {" + rate_limit + "}}]");
  return made.rules().empty() ? Rule() : made.rules().front();
}

TEST(LimitUnit, ByNameAndNumber) {
  const std::vector<std::pair<std::string, LimitUnit>> names = {
      {"second", LimitUnit::kSecond}, {"Minute", LimitUnit::kMinute},
      {"HOUR", LimitUnit::kHour},     {"dAy", LimitUnit::kDay},
      {"week", LimitUnit::kWeek},     {"month", LimitUnit::kMonth},
      {"year", LimitUnit::kYear},     {"unknown", LimitUnit::kUnknown},
      {"", LimitUnit::kUnknown},      {"days", LimitUnit::kUnknown},
  };
  for (const auto& [name, unit] : names) EXPECT_EQ(unit_of(name), unit);
  EXPECT_FALSE(unit_of(0));
  EXPECT_FALSE(unit_of(8));
  EXPECT_FALSE(unit_of(-1));
  EXPECT_EQ(unit_of(1), LimitUnit::kSecond);
  EXPECT_EQ(unit_of(7), LimitUnit::kWeek);
  EXPECT_STREQ(unit_name(LimitUnit::kMonth), "MONTH");
  EXPECT_STREQ(unit_name(LimitUnit::kUnknown), "UNKNOWN");
}

TEST(WindowRule, IsAFixedWindowFromTheEpoch) {
  const std::vector<std::pair<LimitUnit, std::int64_t>> lengths = {
      {LimitUnit::kSecond, 1},      {LimitUnit::kMinute, 60},
      {LimitUnit::kHour, 3600},     {LimitUnit::kDay, 86400},
      {LimitUnit::kWeek, 604800},   {LimitUnit::kMonth, 2592000},
      {LimitUnit::kYear, 31536000},
  };
  for (const auto& [unit, seconds] : lengths) {
    const Rule rule = window_rule(5, unit);
    EXPECT_EQ(rule.unit, unit);
    EXPECT_EQ(rule.requests_per_unit, 5U);
    EXPECT_EQ(rule.limit.period, std::chrono::seconds(seconds));
    EXPECT_EQ(rule.limit.rate.capacity, 5);
    EXPECT_EQ(rule.limit.algorithm, Algorithm::kFixedWindow);
    ASSERT_NE(rule.limit.rules, nullptr);
    EXPECT_EQ(rule.limit.rules->align, Align::kEpoch);
    EXPECT_FALSE(rule.denies_all());
  }
}

TEST(WindowRule, HasAsManyUnitsAsItsMultiplierSays) {
  const Rule rule = window_rule(120, LimitUnit::kMinute, 10);
  EXPECT_EQ(rule.unit, LimitUnit::kMinute);
  EXPECT_EQ(rule.unit_multiplier, 10U);
  EXPECT_EQ(rule.limit.period, std::chrono::minutes(10));
  EXPECT_EQ(rule.limit.rate.capacity, 120);
  EXPECT_EQ(rule.limit.rate.emission_interval, std::chrono::seconds(5));
  EXPECT_EQ(rule.limit.rules->align, Align::kEpoch);
  EXPECT_EQ(rule.limit.suffix, "#10m!fw");
  EXPECT_EQ(rule_in_words(rule), "120 per 10 MINUTE");
  // The next rule of this unit is as before.
  EXPECT_EQ(window_rule(1, LimitUnit::kMinute).limit.suffix, "#minute!fw");
}

TEST(WindowRule, IsNotLongerThan100Years) {
  EXPECT_EQ(unit_length(LimitUnit::kYear, 100),
            std::chrono::hours(24 * 365 * 100));
  EXPECT_FALSE(unit_length(LimitUnit::kYear, 101));
  EXPECT_FALSE(unit_length(LimitUnit::kYear, UINT32_MAX));
  EXPECT_FALSE(unit_length(LimitUnit::kSecond, UINT32_MAX));
  EXPECT_FALSE(unit_length(LimitUnit::kSecond, 0));
}

TEST(WindowRule, AnyNumberIsABucket) {
  EXPECT_TRUE(window_rule(0, LimitUnit::kDay).denies_all());
  EXPECT_EQ(window_rule(0, LimitUnit::kDay).limit.rate.capacity, 1);
  const Rule most = window_rule(UINT32_MAX, LimitUnit::kYear);
  EXPECT_EQ(most.requests_per_unit, UINT32_MAX);
  EXPECT_EQ(most.limit.rate.capacity, kMaxUnits);
  const Rule fast = window_rule(UINT32_MAX, LimitUnit::kSecond);
  EXPECT_EQ(fast.limit.rate.capacity, 1'000'000'000);
  EXPECT_EQ(fast.limit.rate.emission_interval, Duration(1));
}

TEST(Rule, SuffixTellsUnitAndAlgorithm) {
  EXPECT_EQ(rule_of("unit: minute").limit.suffix, "#minute!fw");
  EXPECT_EQ(rule_of("unit: Hour").limit.suffix, "#hour!fw");
  EXPECT_EQ(rule_of("period: 5m").limit.suffix, "#5m!fw");
  EXPECT_EQ(rule_of("unit: minute, unit_multiplier: 5").limit.suffix, "#5m!fw");
  EXPECT_EQ(rule_of("unit: minute, unit_multiplier: 1").limit.suffix,
            "#minute!fw");
  EXPECT_EQ(rule_of("unit: day, algorithm: gcra").limit.suffix, "#day");
  EXPECT_EQ(rule_of("unit: day, algorithm: sliding_tail, requests_per_unit: 2")
                .limit.suffix,
            "#day!st");
}

TEST(Rule, Extensions) {
  Rule rule = rule_of("period: 90s, requests_per_unit: 3");
  EXPECT_EQ(rule.unit, LimitUnit::kUnknown);
  EXPECT_EQ(rule.limit.period, std::chrono::seconds(90));
  EXPECT_EQ(rule.limit.algorithm, Algorithm::kFixedWindow);
  EXPECT_EQ(rule.limit.rules->align, Align::kEpoch);

  rule = rule_of(
      "unit: minute, requests_per_unit: 30, algorithm: gcra, "
      "burst: 5");
  EXPECT_EQ(rule.unit, LimitUnit::kMinute);
  EXPECT_TRUE(rule.limit.is_plain());
  EXPECT_EQ(rule.limit.rate.capacity, 5);
  EXPECT_EQ(rule.limit.rate.emission_interval, std::chrono::seconds(2));

  rule = rule_of("unit: minute, requests_per_unit: 30, overrun: {percent: 20}");
  EXPECT_EQ(rule.limit.algorithm, Algorithm::kFixedWindow);
  EXPECT_EQ(ceiling_of(rule.limit, kFullPressure), 36);

  rule = rule_of(
      "unit: minute, unit_multiplier: 2, requests_per_unit: 30, "
      "algorithm: gcra");
  EXPECT_EQ(rule.unit_multiplier, 2U);
  EXPECT_EQ(rule.limit.rate.emission_interval, std::chrono::seconds(4));

  rule = rule_of("unit: minute, algorithm: token_bucket");
  EXPECT_TRUE(rule.denies_all());
}

TEST(Rule, ModesAndCharge) {
  const Descriptors made = loaded(
      "domain: d\n"
      "descriptors:\n"
      "- {key: a, shadow_mode: true, rate_limit: {unit: day}}\n"
      "- {key: b, quota_mode: true, rate_limit: {unit: day}}\n"
      "- {key: c, rate_limit: {unit: day, algorithm: gcra}}\n");
  EXPECT_EQ(made.rules()[0].limit.mode, Mode::kShadow);
  EXPECT_TRUE(made.rules()[0].shadow_mode);
  EXPECT_EQ(made.rules()[1].limit.mode, Mode::kEnforce);
  EXPECT_TRUE(made.rules()[1].quota_mode);
  EXPECT_EQ(made.rules()[1].limit.charge, Charge::kEveryHit);
  EXPECT_EQ(made.rules()[1].limit.index, 1U);
  EXPECT_EQ(made.rules()[2].limit.charge, Charge::kIndependent);
  const Descriptors all = loaded(
      "domain: d\nall_or_nothing: true\n"
      "descriptors: [{key: a, rate_limit: {unit: day}}]\n");
  EXPECT_EQ(all.rules()[0].limit.charge, Charge::kAllOrNothing);
}

// Only a window has a place for what does not fit.
TEST(Rule, ChargeByAlgorithm) {
  const Descriptors made = loaded(
      "domain: d\n"
      "descriptors:\n"
      "- {key: a, rate_limit: {unit: day}}\n"
      "- {key: b, rate_limit: {unit: day, algorithm: gcra}}\n"
      "- {key: c, descriptors: [{key: d, rate_limit: {unit: day}}]}\n");
  const auto charge = [](const Descriptors& of, std::size_t rule) {
    return of.rules()[rule].limit.charge;
  };
  EXPECT_EQ(charge(made, 0), Charge::kEveryHit);
  EXPECT_EQ(charge(made, 1), Charge::kIndependent);
  EXPECT_EQ(charge(made, 2), Charge::kEveryHit);
  const Descriptors stopping = made.stopping();
  EXPECT_EQ(charge(stopping, 0), Charge::kAllOrDenying);
  EXPECT_EQ(charge(stopping, 1), Charge::kAllOrNothing);
  EXPECT_EQ(charge(stopping, 2), Charge::kAllOrDenying);
  EXPECT_EQ(charge(made, 0), Charge::kEveryHit);
  const Descriptors all = loaded(
      "domain: d\nall_or_nothing: true\n"
      "descriptors: [{key: a, rate_limit: {unit: day}}]\n");
  EXPECT_EQ(charge(all.stopping(), 0), Charge::kAllOrNothing);
}

TEST(Rule, InWords) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"unlimited: true", "unlimited"},
      {"unlimited: true, unit: nonsense", "unlimited"},
      {"unit: day, requests_per_unit: 5", "5 per DAY"},
      {"unit: day", "0 per DAY: denies everything"},
      {"period: 90s, requests_per_unit: 5", "5 per 90s"},
      {"unit: day, requests_per_unit: 5, name: n, replaces: [{name: x}]",
       "5 per DAY, name \"n\", replaces \"x\""},
      {"unit: minute, requests_per_unit: 5, algorithm: gcra, burst: 9",
       "5 per 1m, capacity 9"},
      {"unit: minute, algorithm: gcra, burst: 9",
       "0 per MINUTE: denies everything"},
      {"unit: minute, requests_per_unit: 5, overrun: {percent: 20}",
       "5 per 1m, capacity 5, fixed_window, overrun 20%"},
  };
  for (const auto& [yaml, words] : cases) {
    EXPECT_EQ(rule_in_words(rule_of(yaml)), words) << yaml;
  }
}

}  // namespace
}  // namespace limitree
