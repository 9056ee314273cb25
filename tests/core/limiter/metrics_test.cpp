#include "limiter/metrics.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace limitree {
namespace {

const Limit kLimit = [] {
  Limit limit;
  limit.rate = {Duration(1), 10};
  return limit;
}();

Level level_of(std::int64_t remaining, bool limited) {
  Level level{&kLimit, 0, 0, 1, {}, {}, {}};
  level.verdict.remaining = remaining;
  level.verdict.limited = limited;
  return level;
}

TEST(Policies, KnowANameOnce) {
  Policies policies;
  Policy* const first = policies.intern("user:*");
  for (int i = 0; i < 1000; ++i) policies.intern("user:" + std::to_string(i));
  EXPECT_EQ(policies.intern("user:*"), first);
  EXPECT_EQ(first->name(), "user:*");
  EXPECT_EQ(policies.all().size(), 1001u);
}

TEST(Stripe, CountsByWhatTheLevelSaid) {
  Policies policies;
  Policy* const policy = policies.intern("user:*");
  Stripe stripe;
  stripe.count(policy, level_of(9, false), true);
  stripe.count(policy, level_of(2, false), true);   // a fifth is left
  stripe.count(policy, level_of(9, false), false);  // another level denied
  stripe.count(policy, level_of(0, true), false);
  stripe.flush();
  const Tally tally = policy->tally();
  EXPECT_EQ(tally.allowed, 2);
  EXPECT_EQ(tally.limited, 1);
  EXPECT_EQ(tally.near_limit, 1);
  EXPECT_EQ(tally.shadow_limited, 0);
}

// More policies than the cache has entries: none is lost.
TEST(Stripe, WritesBackWhatItsCacheCannotHold) {
  Policies policies;
  Stripe stripe;
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 500; ++i) {
      stripe.count(policies.intern(std::to_string(i)), level_of(9, false),
                   true);
    }
  }
  stripe.flush();
  for (const Policy& policy : policies.all()) {
    EXPECT_EQ(policy.tally().allowed, 10) << policy.name();
  }
}

// Each of them consists of counters, so a new one is looked at, too.
template <typename Sum>
void expect_that_each_counter_is_summed() {
  using Counters = std::array<std::int64_t, sizeof(Sum) / sizeof(std::int64_t)>;
  static_assert(sizeof(Counters) == sizeof(Sum));
  Counters some{};
  Counters more{};
  for (std::size_t i = 0; i < some.size(); ++i) {
    some[i] = std::int64_t{1} << i;
    more[i] = 3 * some[i];
  }
  auto sum = std::bit_cast<Sum>(some);
  sum += std::bit_cast<Sum>(more);
  const auto found = std::bit_cast<Counters>(sum);
  for (std::size_t i = 0; i < some.size(); ++i) {
    EXPECT_EQ(found[i], 4 * some[i]) << "counter " << i;
  }
}

TEST(Sums, HaveEveryCounter) {
  expect_that_each_counter_is_summed<Tally>();
  expect_that_each_counter_is_summed<Totals>();
  expect_that_each_counter_is_summed<EnvoyTotals>();
}

// More threads than stripes: every count arrives.
TEST(Stripes, LoseNothingBetweenThreads) {
  Stripes stripes;
  std::vector<std::thread> threads;
  for (int t = 0; t < 80; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        Stripe& stripe = stripes.acquire();
        stripe.count_error();
        stripe.unlock();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Totals totals;
  for (Stripe& stripe : stripes) {
    const std::lock_guard hold(stripe);
    totals += stripe.totals();
  }
  EXPECT_EQ(totals.errors, 80 * 500);
}

}  // namespace
}  // namespace limitree
