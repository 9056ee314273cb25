// Beyond the vectors: the edges of the arithmetic, and that answers are exact.

#include "base/gcra.hpp"

#include <gtest/gtest.h>

#include <random>

namespace limitree {
namespace {

constexpr Rate kRate{std::chrono::seconds(2), 5};

TEST(Probe, TakesAPassedTatForAFullBucket) {
  EXPECT_EQ(probe(kRate, Duration(-1), 1).debt, Duration(0));
  EXPECT_EQ(probe(kRate, Duration::min(), 1).debt, Duration(0));
}

TEST(Probe, TakesATatTooFarAwayForAnEmptyBucket) {
  const Probe found = probe(kRate, Duration::max(), 1);
  EXPECT_EQ(found.debt, kRate.burst_offset());
  EXPECT_FALSE(found.fits);
  EXPECT_FALSE(found.never);
}

TEST(Probe, CostOfNothingAlwaysFits) {
  EXPECT_TRUE(probe(kRate, Duration::max(), 0).fits);
}

TEST(Probe, CostAboveTheCapacityNeverFits) {
  EXPECT_TRUE(probe(kRate, Duration(0), 5).fits);
  const Probe found = probe(kRate, Duration(0), 6);
  EXPECT_FALSE(found.fits);
  EXPECT_TRUE(found.never);
  EXPECT_TRUE(probe(kRate, Duration::max(), INT64_MAX).never);
}

TEST(Verdict, OfTheSlowestLimitIsExact) {
  const Result<Rate> rate = make_rate(1, std::chrono::days(1), 36525);
  ASSERT_TRUE(rate.ok());
  const Probe found = probe(rate.value(), kMaxBurstOffset, 36525);
  const Verdict denied = verdict(rate.value(), found, found.debt);
  EXPECT_TRUE(denied.limited);
  EXPECT_EQ(denied.retry_after, kMaxBurstOffset);
  EXPECT_EQ(denied.remaining, 0);
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  // From 0 to limit - 1.
  std::int64_t below(std::int64_t limit) {
    return std::uniform_int_distribution<std::int64_t>(0, limit - 1)(engine_);
  }
  Rate rate() { return {Duration(1 + below(1'000'000)), 1 + below(100)}; }
  Duration below(Duration limit) { return Duration(below(limit.count())); }

 private:
  std::mt19937_64 engine_;
};

// Allowed exactly at retry_after, and denied one nanosecond before.
TEST(Verdict, RetryAfterIsExact) {
  Random random(1);
  for (int i = 0; i < 100'000; ++i) {
    const Rate rate = random.rate();
    const Duration debt = random.below(2 * rate.burst_offset());
    const std::int64_t cost = random.below(110);
    const Probe found = probe(rate, debt, cost);
    const Verdict now = verdict(rate, found, found.debt);
    if (!now.limited) {
      ASSERT_EQ(now.retry_after, kNotLimited);
      continue;
    }
    if (now.retry_after == kNever) {
      ASSERT_GT(cost, rate.capacity);
      continue;
    }
    const Duration then = found.debt - now.retry_after;
    ASSERT_TRUE(probe(rate, then, cost).fits);
    ASSERT_FALSE(probe(rate, then + Duration(1), cost).fits);
  }
}

TEST(Verdict, NextAfterIsExact) {
  Random random(2);
  for (int i = 0; i < 100'000; ++i) {
    const Rate rate = random.rate();
    const std::int64_t cost = 1 + random.below(rate.capacity);
    const Probe found = probe(rate, random.below(rate.burst_offset()), cost);
    if (!found.fits) continue;
    const Verdict charged = verdict(rate, found, found.debt + found.charge);
    const Duration then = charged.reset_after - charged.next_after;
    ASSERT_TRUE(probe(rate, then, cost).fits);
    if (charged.next_after > Duration(0)) {
      ASSERT_FALSE(probe(rate, then + Duration(1), cost).fits);
    }
  }
}

// One token more exactly at grows_after, and none a nanosecond before.
TEST(Verdict, GrowsAfterIsExact) {
  Random random(3);
  for (int i = 0; i < 100'000; ++i) {
    const Rate rate = random.rate();
    const Probe found = probe(rate, random.below(rate.burst_offset() * 2), 0);
    const Verdict now = verdict(rate, found, found.debt);
    const auto left_after = [&](Duration wait) {
      const Probe then = probe(rate, found.debt - wait, 0);
      return verdict(rate, then, then.debt).remaining;
    };
    if (found.debt == Duration(0)) {
      ASSERT_EQ(grows_after(rate, found.debt), Duration(0));
      continue;
    }
    const Duration wait = grows_after(rate, found.debt);
    ASSERT_EQ(left_after(wait), now.remaining + 1);
    ASSERT_EQ(left_after(wait - Duration(1)), now.remaining);
  }
}

TEST(SpendAndRefund, SaturateAtTheEndsOfTheBucket) {
  const Probe spent = probe(kRate, std::chrono::seconds(9), INT64_MAX);
  EXPECT_EQ(debt_after_spend(kRate, spent), kRate.burst_offset());
  const Probe refunded = probe(kRate, std::chrono::seconds(3), 2);
  EXPECT_EQ(debt_after_refund(refunded), Duration(0));
}

}  // namespace
}  // namespace limitree
