// Processes whose clocks differ.

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "core/store/manual_clock.hpp"
#include "core/store/memcached/memcached_server.hpp"
#include "core/store/store_cases.hpp"
#include "store/memcached/memcached_store.hpp"

namespace limitree::memcached {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

class MemcachedClocks : public testing::Test {
 protected:
  static Plan* plan_of(const Limit& limit, const std::string& name,
                       Plan* plan) {
    plan->segments.emplace_back(name, Segment::Kind::kCaller);
    plan->add_level(&limit, 0u, 1u, 1);
    return plan;
  }
  static bool allowed(Store* store, const Limit& limit,
                      const std::string& name) {
    Plan plan(Operation::kAuthorize);
    const Status status = store->decide(plan_of(limit, name, &plan));
    EXPECT_TRUE(status.ok()) << status.message();
    return !plan.levels[0].verdict.limited;
  }
  static Status failure(Store* store, const Limit& limit,
                        const std::string& name) {
    Plan plan(Operation::kAuthorize);
    return store->decide(plan_of(limit, name, &plan));
  }

  MemcachedServer server;
  Settings settings = store_settings("memcached://" + server.host());
  ManualClock ahead;
  ManualClock behind;
  MemcachedStore one{settings, ahead.clock()};
  MemcachedStore other{settings, behind.clock()};
};

// Asked in turn, they would move the bucket between their times, and each time
// give something back.
TEST_F(MemcachedClocks, ThatDifferAdmitNothingMore) {
  for (const AlgorithmTraits& traits : kAlgorithms) {
    for (const auto difference : {seconds(1), seconds(5), seconds(60)}) {
      const Limit limit = limit_of(traits.algorithm, 10, seconds(10));
      const std::string name = traits.name + std::to_string(difference.count());
      ahead.set(behind.now() + difference);
      int admitted = 0;
      for (int i = 0; i < 20; ++i) {
        admitted += allowed(&one, limit, name) ? 1 : 0;
        admitted += allowed(&other, limit, name) ? 1 : 0;
        admitted += allowed(&other, limit, name) ? 1 : 0;
      }
      EXPECT_EQ(admitted, 10) << name;
      behind.advance(hours(1));
    }
  }
}

TEST_F(MemcachedClocks, TheOneBehindWaitsForItsOwnClock) {
  const Limit limit = simple_limit(seconds(10), 1);
  ahead.advance(seconds(30));
  EXPECT_TRUE(allowed(&one, limit, "a"));
  for (int i = 0; i < 4; ++i) {
    Plan plan(Operation::kAuthorize);
    ASSERT_TRUE(other.decide(plan_of(limit, "a", &plan)).ok());
    EXPECT_TRUE(plan.levels[0].verdict.limited) << i;
    EXPECT_EQ(plan.levels[0].verdict.retry_after, seconds(40 - 10 * i));
    EXPECT_EQ(plan.levels[0].verdict.reset_after, seconds(40 - 10 * i));
    behind.advance(seconds(10));
  }
  EXPECT_TRUE(allowed(&other, limit, "a"));
}

TEST_F(MemcachedClocks, TooFarBehindIsAnErrorThatNamesBothTimes) {
  const Limit limit = simple_limit(seconds(10), 1);
  ahead.advance(seconds(60) + milliseconds(1));
  EXPECT_TRUE(allowed(&one, limit, "a"));
  const Status status = failure(&other, limit, "a");
  EXPECT_EQ(status.code(), Code::kStoreUnavailable);
  EXPECT_STREQ(status.error().reason, "clock");
  EXPECT_EQ(status.message(),
            server.host() + ": " + settings.prefix +
                "{a}: the clock of this process shows 2025-06-15 15:06:40.000 "
                "UTC, and another one has used it at 2025-06-15 15:07:40.001 "
                "UTC");
  EXPECT_TRUE(failure(&other, limit, "b").ok()) << "another caller";
  behind.advance(milliseconds(1));
  EXPECT_FALSE(allowed(&other, limit, "a"));
}

TEST_F(MemcachedClocks, AResetForgetsTheOneAhead) {
  const Limit limit = simple_limit(seconds(10), 1);
  ahead.advance(hours(1));
  EXPECT_TRUE(allowed(&one, limit, "a"));
  EXPECT_STREQ(failure(&other, limit, "a").error().reason, "clock");
  Plan plan(Operation::kAuthorize);
  ASSERT_TRUE(other.reset(*plan_of(limit, "a", &plan)).ok());
  EXPECT_TRUE(allowed(&other, limit, "a"));
}

// Also if all of them are full again.
TEST_F(MemcachedClocks, ThatHaveUsedAnItemAreNotForgotten) {
  const Limit limit = simple_limit(seconds(10), 1);
  ahead.advance(seconds(61));
  EXPECT_TRUE(allowed(&one, limit, "a"));
  Plan plan(Operation::kRefund);
  ASSERT_TRUE(one.decide(plan_of(limit, "a", &plan)).ok());
  EXPECT_STREQ(failure(&other, limit, "a").error().reason, "clock");
}

// A caller may set its own clock back, as tests do.
TEST_F(MemcachedClocks, OnesOwnIsObeyed) {
  const Limit limit = simple_limit(hours(1), 10);
  EXPECT_TRUE(allowed(&one, limit, "a"));
  ahead.advance(-hours(3));
  EXPECT_TRUE(failure(&one, limit, "a").ok());
}

}  // namespace
}  // namespace limitree::memcached
