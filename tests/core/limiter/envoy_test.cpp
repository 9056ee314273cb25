// Requests of Envoy, beyond what the vectors of envoy.json say.

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "core/limiter/envoy_fixture.hpp"

namespace limitree::envoy_test {
namespace {

using std::chrono::seconds;

constexpr std::string_view kTwo =
    "domain: d\n"
    "descriptors:\n"
    "- {key: a, rate_limit: {unit: minute, requests_per_unit: 3}}\n"
    "- {key: b, rate_limit: {unit: hour, requests_per_unit: 5}}\n"
    "- {key: none, rate_limit: {unit: hour}}\n";

TEST_F(EnvoyTest, ChargesEachDescriptorByItself) {
  make(kTwo);
  EXPECT_EQ(path_cost({"a=1", "b=1", "c=1"}), "OK: ok 2, ok 4, -");
  EXPECT_EQ(path_cost({"a=1;hits=3", "b=1"}), "OVER: over 0, ok 3");
  EXPECT_EQ(path_cost({"a=2"}), "OK: ok 2");
  EXPECT_EQ(answer.statuses[0].requests_per_unit, 3U);
  EXPECT_EQ(answer.statuses[0].unit, LimitUnit::kMinute);
  clock.advance(seconds(60));
  EXPECT_EQ(path_cost({"a=1", "b=1"}), "OK: ok 2, ok 2");
}

// Hits on one counter are judged one after the other.
TEST_F(EnvoyTest, OneCounterSeveralTimes) {
  make(kTwo);
  EXPECT_EQ(path_cost({"a=1;hits=2", "a=1;hits=1", "a=1"}),
            "OVER: ok 1, ok 0, over 0");
  const HitTally all = tally("d.a");
  EXPECT_EQ(all.total_hits, 4);
  EXPECT_EQ(all.within_limit, 3);
  EXPECT_EQ(all.over_limit, 1);
}

TEST_F(EnvoyTest, StatedLimits) {
  make(kTwo);
  // Of one window, so of one counter; each is compared with its own limit.
  EXPECT_EQ(path_cost({"x=1;limit=1/2", "x=1;limit=9/2", "x=1;limit=9/2"}),
            "OK: ok 0, ok 7, ok 6");
  EXPECT_EQ(path_cost({"x=1;limit=1/2", "x=1;limit=9/2"}),
            "OVER: over 0, ok 4");
  EXPECT_EQ(path_cost({"x=1;limit=1/0"}),
            "descriptor 0 states a limit with the unknown unit 0");
  EXPECT_EQ(path_cost({"a=1;limit=0/2"}), "OVER: over 0");
  EXPECT_EQ(path_cost({"a=1;limit=2/2", "a=1"}), "OK: ok 1, ok 1");
  EXPECT_EQ(tally("d.x_1").total_hits, 5);
}

// Windows of ten minutes from the epoch on, in rules and in requests.
TEST_F(EnvoyTest, WindowsOfSeveralUnits) {
  make(
      "domain: d\ndescriptors:\n"
      "- {key: a, rate_limit: {unit: minute, unit_multiplier: 10, "
      "requests_per_unit: 2}}\n");
  EXPECT_EQ(path_cost({"a=1;hits=2"}), "OK: ok 0");
  EXPECT_EQ(answer.statuses[0].unit, LimitUnit::kMinute);
  EXPECT_EQ(answer.statuses[0].unit_multiplier, 10U);
  EXPECT_EQ(answer.statuses[0].period, seconds(600));
  const Duration left = answer.statuses[0].outcome.until_reset;
  EXPECT_EQ((clock.now() + left).time_since_epoch() % seconds(600),
            Duration(0));
  clock.advance(left - Duration(1));
  EXPECT_EQ(path_cost({"a=1"}), "OVER: over 0");
  clock.advance(Duration(1));
  EXPECT_EQ(path_cost({"a=1"}), "OK: ok 1");
  // A request that states the same window meets the same counter.
  EXPECT_EQ(path_cost({"a=1;limit=5/2/10"}), "OK: ok 3");
  EXPECT_EQ(answer.statuses[0].unit_multiplier, 10U);
  EXPECT_EQ(path_cost({"a=1;limit=5/2/9"}), "OK: ok 4");
  EXPECT_EQ(path_cost({"a=1;limit=5/2"}), "OK: ok 4");
  EXPECT_EQ(path_cost({"a=1;limit=5/6/101"}),
            "descriptor 0 states a limit with the unit_multiplier 101: such a "
            "window takes more than 100 years");
}

TEST_F(EnvoyTest, GivesBack) {
  make(kTwo);
  EXPECT_EQ(path_cost({"a=1;hits=3"}), "OK: ok 0");
  EXPECT_EQ(path_cost({"a=1"}), "OVER: over 0");
  EXPECT_EQ(path_cost({"a=1;hits=3;back"}), "OK: ok 2");
  EXPECT_EQ(path_cost({"a=1;hits=9;back"}), "OK: ok 3");
  EXPECT_EQ(path_cost({"a=7;back"}), "OK: ok 3");
  // Hits come first.
  EXPECT_EQ(path_cost({"b=1;hits=5;back", "b=1;hits=2"}), "OK: ok 5, ok 3");
  const HitTally a = tally("d.a");
  EXPECT_EQ(a.total_hits, 4);
  EXPECT_EQ(a.total_negative_hits, 13);
  EXPECT_EQ(a.over_limit, 1);
}

TEST_F(EnvoyTest, ZeroRequestsNeverReachTheStore) {
  make(kTwo, true);
  EXPECT_EQ(path_cost({"none=1"}), "OVER: over 0");
  EXPECT_EQ(path_cost({"none=1;hits=0"}), "OVER: over 0");
  EXPECT_EQ(path_cost({"none=1;back"}), "OK: ok 0");
  EXPECT_EQ(path_cost({"c=1"}), "OK: -");
  EXPECT_EQ(store->asked, 0);
  EXPECT_EQ(path_cost({"none=1", "a=1", "b=1"}), "OVER: over 0, ok 2, ok 4");
  EXPECT_EQ(store->asked, 1);
  EXPECT_EQ(path_cost({"a=1", "b=1;back"}), "OK: ok 1, ok 5");
  EXPECT_EQ(store->asked, 3);
  const HitTally none = tally("d.none");
  EXPECT_EQ(none.total_hits, 2);
  EXPECT_EQ(none.over_limit, 2);
}

TEST_F(EnvoyTest, AllOrNothing) {
  make(
      "domain: d\nall_or_nothing: true\n"
      "descriptors:\n"
      "- {key: a, rate_limit: {unit: minute, requests_per_unit: 3}}\n"
      "- {key: b, rate_limit: {unit: hour, requests_per_unit: 1}}\n"
      "- {key: s, shadow_mode: true, rate_limit: {unit: hour, "
      "requests_per_unit: 1}}\n"
      "- {key: q, quota_mode: true, rate_limit: {unit: hour, "
      "requests_per_unit: 1}}\n"
      "- {key: none, rate_limit: {unit: hour}}\n");
  EXPECT_EQ(path_cost({"a=1", "b=1"}), "OK: ok 2, ok 0");
  EXPECT_EQ(path_cost({"a=1", "b=1"}), "OVER: ok 2, over 0");
  EXPECT_EQ(path_cost({"a=1", "none=1"}), "OVER: ok 2, over 0");
  EXPECT_EQ(path_cost({"a=1", "s=1"}), "OK: ok 1, ok 0");
  EXPECT_EQ(path_cost({"a=1", "s=1"}), "OK: ok 0, ok 0");
  // One of several quotas does not deny; the only one does.
  EXPECT_EQ(path_cost({"q=1", "a=2"}), "OK: ok 0, ok 2");
  EXPECT_EQ(path_cost({"q=1", "q=2", "a=2"}), "OK: over 0, ok 0, ok 1");
  EXPECT_EQ(path_cost({"q=1", "a=2"}), "OVER: over 0, ok 1");
  EXPECT_EQ(path_cost({"a=1;limit=9/3", "a=1;limit=9/3", "b=1"}),
            "OVER: ok 9, ok 9, over 0");
}

TEST_F(EnvoyTest, Parents) {
  make(
      "domain: d\nparents: true\n"
      "descriptors:\n"
      "- key: a\n"
      "  rate_limit: {unit: hour, requests_per_unit: 3}\n"
      "  descriptors:\n"
      "  - {key: b, rate_limit: {unit: minute, requests_per_unit: 2}}\n");
  EXPECT_EQ(path_cost({"a=1,b=1"}), "OK: ok 1");
  EXPECT_EQ(path_cost({"a=1,b=2"}), "OK: ok 1");
  EXPECT_EQ(path_cost({"a=1,b=3"}), "OK: ok 0");
  EXPECT_EQ(answer.statuses[0].unit, LimitUnit::kHour);
  EXPECT_EQ(path_cost({"a=1,b=3"}), "OVER: over 0");
  EXPECT_EQ(path_cost({"a=1,c=1"}), "OVER: over 0");
  EXPECT_EQ(tally("d.a").over_limit, 2);
  EXPECT_EQ(tally("d.a.b").within_limit, 4);
}

// A rule in shadow mode does not stop the others from counting; with `on` it
// does, as a vector of envoy.json shows.
TEST_F(EnvoyTest, OnlyEnforcedRulesStop) {
  options.stop_increment = Stop::kEnforced;
  options.over_cache_size = 100;
  make(
      "domain: d\n"
      "descriptors:\n"
      "- {key: s, shadow_mode: true, rate_limit: {unit: hour, "
      "requests_per_unit: 1}}\n"
      "- {key: a, rate_limit: {unit: hour, requests_per_unit: 3}}\n"
      "- {key: g, rate_limit: {unit: hour, requests_per_unit: 9, "
      "algorithm: gcra}}\n"
      "- {key: none, rate_limit: {unit: hour}}\n");
  EXPECT_EQ(path_cost({"s=1", "a=1", "g=1"}), "OK: ok 0, ok 2, ok 8");
  EXPECT_EQ(path_cost({"s=1", "a=1", "g=1"}), "OK: ok 0, ok 1, ok 7");
  EXPECT_EQ(path_cost({"s=1", "a=1", "g=1"}), "OK: ok 0, ok 0, ok 6");
  EXPECT_TRUE(answer.statuses[0].outcome.cached);
  EXPECT_TRUE(answer.statuses[0].shadowed);
  EXPECT_EQ(path_cost({"a=1", "g=1"}), "OVER: over 0, ok 6");
  EXPECT_EQ(path_cost({"a=1", "g=1", "a=2"}), "OVER: over 0, ok 6, ok 3");
  EXPECT_EQ(path_cost({"none=1", "g=1", "a=2"}), "OVER: over 0, ok 6, ok 3");
  EXPECT_EQ(tally("d.g").total_hits, 6);
}

// The cache knows that the counter is over 3, and not that it is over 20.
TEST_F(EnvoyTest, OneCounterOverTheSmallerOfTwoLimits) {
  options.over_cache_size = 100;
  make(kTwo);
  EXPECT_EQ(path_cost({"a=1;hits=4"}), "OVER: over 0");
  int admitted = 0;
  for (int i = 0; i < 50; ++i) {
    path_cost({"a=1", "a=1;limit=20/2"});
    admitted += answer.statuses[1].code == LimitCode::kOk ? 1 : 0;
  }
  EXPECT_EQ(admitted, 8) << "of which each adds two";
  EXPECT_TRUE(answer.statuses[1].outcome.cached);
  EXPECT_EQ(path_cost({"a=1;limit=99/2;hits=0"}), "OK: ok 77");
}

constexpr std::string_view kStops =
    "domain: d\n"
    "descriptors:\n"
    "- {key: none, rate_limit: {unit: hour}}\n"
    "- {key: zs, shadow_mode: true, rate_limit: {unit: hour}}\n"
    "- {key: a, rate_limit: {unit: minute, requests_per_unit: 3}}\n"
    "- {key: b, rate_limit: {unit: hour, requests_per_unit: 5}}\n";

// What is over its limit by itself is denied, and counted, whatever stops the
// others.
TEST_F(EnvoyTest, RulesThatDenyEverythingStopOthers) {
  options.stop_increment = Stop::kOn;
  make(kStops);
  EXPECT_EQ(path_cost({"none=1", "b=1"}), "OVER: over 0, ok 5");
  EXPECT_EQ(path_cost({"zs=1", "b=1;hits=3"}), "OK: ok 0, ok 5");
  EXPECT_EQ(path_cost({"zs=1", "b=1;hits=100"}), "OVER: ok 0, over 0");
  EXPECT_EQ(tally("d.b").over_limit, 95);
  EXPECT_EQ(path_cost({"b=1;hits=0"}), "OVER: over 0");
  EXPECT_EQ(path_cost({"b=1;limit=200/3;hits=0"}), "OK: ok 100");
}

// Each hit on one counter may stop the others, and they come in order.
TEST_F(EnvoyTest, OneCounterSeveralTimesWhereDenialsStop) {
  options.stop_increment = Stop::kOn;
  make(kStops);
  // None of them is over by itself, so that all are counted.
  EXPECT_EQ(path_cost({"a=1;hits=2", "a=1;hits=2", "a=1;hits=2", "b=1"}),
            "OVER: ok 1, over 0, over 0, ok 4");
  EXPECT_EQ(path_cost({"a=2"}), "OK: ok 2");
  EXPECT_EQ(path_cost({"a=2", "a=2;hits=3", "b=1", "a=2;hits=3"}),
            "OVER: ok 2, over 0, ok 4, over 0");
  EXPECT_EQ(path_cost({"a=2;limit=99/2;hits=0"}), "OK: ok 92");
  EXPECT_EQ(tally("d.a").over_limit, 3 + 4);
}

// As the text form of a protobuf does; a wrapped number that is 0 is there.
TEST_F(EnvoyTest, MetadataLeavesOutALimitOfZero) {
  make(kTwo);
  answer.wants_metadata = true;
  path_cost({"a=1;limit=0/3;hits=0", "a=1;limit=2/3"});
  EXPECT_EQ(answer.metadata,
            R"({"domain":"d","descriptors":[)"
            R"({"entries":["a=1"],"limit":"unit:HOUR","hitsAddend":0},)"
            R"({"entries":["a=1"],"limit":"requests_per_unit:2 unit:HOUR"}]})");
}

// Every limit is nearly used up from the first hit on.
TEST_F(EnvoyTest, NearLimitOfNothing) {
  options.near_limit = {0, 1};
  make(kTwo);
  EXPECT_EQ(path_cost({"a=1;hits=2"}), "OK: ok 1");
  EXPECT_EQ(tally("d.a").near_limit, 2);
}

TEST_F(EnvoyTest, OtherAlgorithms) {
  make(
      "domain: d\n"
      "descriptors:\n"
      "- {key: g, rate_limit: {period: 10s, requests_per_unit: 2, "
      "algorithm: gcra, burst: 4, name: smooth}}\n"
      "- {key: o, rate_limit: {unit: minute, requests_per_unit: 10, "
      "overrun: {percent: 20}}}\n");
  EXPECT_EQ(path_cost({"g=1;hits=4"}), "OK: ok 0");
  EXPECT_EQ(answer.statuses[0].unit, LimitUnit::kUnknown);
  EXPECT_EQ(answer.statuses[0].period, seconds(10));
  EXPECT_EQ(answer.statuses[0].name, "smooth");
  EXPECT_EQ(path_cost({"g=1"}), "OVER: over 0");
  EXPECT_EQ(answer.statuses[0].outcome.until_reset, seconds(5));
  EXPECT_EQ(path_cost({"g=1;hits=5"}), "OVER: over 0");
  EXPECT_EQ(answer.statuses[0].outcome.retry_after, kNever);
  EXPECT_EQ(answer.statuses[0].outcome.until_reset, seconds(20));
  EXPECT_EQ(tally("d.g").over_limit, 6);
  EXPECT_EQ(tally("d.g").near_limit, 1);

  EXPECT_EQ(path_cost({"o=1;hits=12"}), "OK: ok 0");
  EXPECT_TRUE(answer.statuses[0].outcome.soft);
  EXPECT_EQ(path_cost({"o=1"}), "OVER: over 0");
}

TEST_F(EnvoyTest, HitsWithoutEnd) {
  make(kTwo);
  const std::string most = "a=1;hits=18446744073709551615";
  EXPECT_EQ(path_cost({most, most}), "OVER: over 0, over 0");
  EXPECT_EQ(path_cost({most}), "OVER: over 0");
  EXPECT_EQ(answer.statuses[0].outcome.retry_after, kNever);
  EXPECT_EQ(tally("d.a").total_hits, INT64_MAX);
  EXPECT_EQ(path_cost({"a=1;hits=18446744073709551615;back"}), "OK: ok 3");
}

TEST_F(EnvoyTest, ReloadKeepsCountersAndStatistics) {
  make(kTwo);
  EXPECT_EQ(path_cost({"a=1"}), "OK: ok 2");
  const std::string_view name = answer.statuses[0].name;
  limiter->reload(descriptors_of(
      "domain: d\n"
      "descriptors: [{key: a, rate_limit: {unit: minute, requests_per_unit: "
      "9, name: other}}]\n"));
  EXPECT_EQ(name, "");
  EXPECT_EQ(path_cost({"a=1", "b=1"}), "OK: ok 7, -");
  const std::string_view other = answer.statuses[0].name;
  EXPECT_EQ(tally("d.a").total_hits, 2);
  limiter->reload(descriptors_of("domain: e"));
  EXPECT_EQ(path_cost({"a=1"}), "OK: -");
  EXPECT_EQ(other, "other");
  EXPECT_EQ(tally("d").domain_not_found, 1);
  EXPECT_TRUE(limiter->reload(Tree()).ok());
  EXPECT_NE(limiter->descriptors()->find("e"), nullptr);
}

// What requests bring, such as values of a client, is bounded.
TEST_F(EnvoyTest, NamesOfRequestsAreBounded) {
  options.max_metric_keys = 2;
  make(
      "domain: d\n"
      "descriptors:\n"
      "- {key: a, detailed_metric: true, rate_limit: {unit: minute, "
      "requests_per_unit: 3}}\n"
      "- {key: b, rate_limit: {unit: minute, requests_per_unit: 3}}\n");
  for (int i = 0; i < 100; ++i) {
    path_cost({"a=" + std::to_string(i), "b=1"});
  }
  path_cost({"a=1"});
  EXPECT_EQ(tally("d.a_0").total_hits, 1);
  EXPECT_EQ(tally("d.a_1").total_hits, 2);
  EXPECT_EQ(tally("d.b").total_hits, 100);
  EXPECT_EQ(tally("other").total_hits, 98);
  EXPECT_EQ(limiter->metric_stats().size(), 4U);
  EXPECT_EQ(limiter->envoy_stats().metric_keys, 4);
}

TEST_F(EnvoyTest, Totals) {
  options.answer_modes.shadow_mode = true;
  make(kTwo, true);
  path_cost({"a=1;hits=4"});
  EXPECT_TRUE(answer.shadowed);
  path_cost({"b=1"});
  path_cost({});
  store->fail(Code::kStoreTimeout);
  path_cost({"b=1"});
  const EnvoyStats stats = limiter->envoy_stats();
  EXPECT_EQ(stats.totals.ok, 2);
  EXPECT_EQ(stats.totals.over_limit, 0);
  EXPECT_EQ(stats.totals.global_shadow_mode, 1);
  EXPECT_EQ(stats.totals.service_errors, 1);
  EXPECT_EQ(stats.totals.store_errors, 1);
  EXPECT_EQ(limiter->stats().totals.errors, 2);
  EXPECT_EQ(limiter->stats().totals.allowed(), 2);
  EXPECT_EQ(tally("d.b").total_hits, 1);
}

}  // namespace
}  // namespace limitree::envoy_test
