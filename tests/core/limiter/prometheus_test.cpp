#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "limiter/counters.hpp"

namespace limitree {
namespace {

// tests/capi/test_prometheus.py reads the file by the rules of the format.
TEST(PrometheusText, IsThatOfTheFile) {
  CounterValues values;
  LimiterStats& stats = values.stats;
  stats.totals.decided = {{{100, 20}, {0, 7}, {5, 6}, {3, 0}, {0, 4}, {60, 0}}};
  stats.totals.shadow_limited = 11;
  stats.totals.soft = 12;
  stats.totals.errors = 2;
  stats.totals.held = 30;
  stats.totals.settled = 20;
  stats.totals.ended = 9;
  stats.totals.holds_full = 1;
  stats.reloads = 1;
  stats.limits = 2;
  stats.store.buckets = 40;
  stats.store.max_buckets = 1'000'000;
  stats.store.bytes = 4096;
  stats.store.evictions = 8;
  stats.store.forgotten_limited = 3;
  stats.store.leased = 80;
  stats.store.lease_used = 60;
  stats.store.lease_lost = 12;
  stats.store.connects = 5;
  stats.store.round_trips[0] = 30;
  stats.store.round_trips[3] = 60;
  stats.store.round_trips[15] = 1;
  stats.store.round_trip_ns = 1'234'567'000;
  values.reasons = {{"timeout", 9, 0}, {"readonly", 1, 3}};
  values.limits = {
      {"user:*/trade",
       {.allowed = 90,
        .limited = 9,
        .shadow_limited = 0,
        .near_limit = 8,
        .soft = 7}},
      {"a \"quoted\"\\\nname",
       {.allowed = 1, .limited = 0, .shadow_limited = 2, .near_limit = 0}}};

  std::ifstream file(LIMITREE_TEST_DATA "/prometheus.txt");
  ASSERT_TRUE(file);
  std::stringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(prometheus_text(values), expected.str());
}

}  // namespace
}  // namespace limitree
