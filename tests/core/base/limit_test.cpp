#include "base/limit.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/time.hpp"

namespace limitree {
namespace {

std::string refusal(std::int64_t count, Duration period,
                    std::int64_t capacity) {
  Result<Rate> rate = make_rate(count, period, capacity);
  return rate.ok() ? "accepted" : rate.status().error().messages.at(0);
}

TEST(MakeRate, RoundsTheEmissionIntervalDown) {
  const Result<Rate> rate = make_rate(7, std::chrono::seconds(1), 3);
  ASSERT_TRUE(rate.ok());
  EXPECT_EQ(rate.value().emission_interval, Duration(142'857'142));
  EXPECT_EQ(rate.value().burst_offset(), Duration(428'571'426));
}

TEST(MakeRate, RefusesWhatIsNotPositive) {
  EXPECT_EQ(refusal(0, Duration(1), 1), "count must be greater than 0, is 0");
  EXPECT_EQ(refusal(-3, Duration(1), 1), "count must be greater than 0, is -3");
  EXPECT_EQ(refusal(1, Duration(0), 1),
            "period must be greater than 0, is 0ns");
  EXPECT_EQ(refusal(1, Duration(1), 0),
            "capacity must be greater than 0, is 0");
}

TEST(MakeRate, RefusesMoreThanOnePerNanosecond) {
  EXPECT_EQ(refusal(1'000'000'000, std::chrono::seconds(1), 1), "accepted");
  EXPECT_EQ(refusal(1'000'000'001, std::chrono::seconds(1), 1),
            "count 1000000001 in 1000000000ns is more than one per nanosecond");
}

TEST(MakeRate, RefusesBucketsThatTakeMoreThanACenturyToFill) {
  const Duration day = std::chrono::days(1);
  EXPECT_EQ(refusal(1, day, 36525), "accepted");
  EXPECT_EQ(refusal(1, day, 36526),
            "a bucket of 36526 tokens, one per 86400000000000ns, takes more "
            "than 100 years to fill");
  EXPECT_NE(refusal(1, Duration::max(), INT64_MAX), "accepted");
}

TEST(Charges, AreWhatTheirBitsSay) {
  EXPECT_TRUE(is_joint(Charge::kAllOrNothing));
  EXPECT_FALSE(is_joint(Charge::kIndependent));
  EXPECT_TRUE(is_joint(Charge::kAllOrDenying));
  EXPECT_FALSE(is_joint(Charge::kEveryHit));
  EXPECT_FALSE(counts_denied(Charge::kAllOrNothing));
  EXPECT_FALSE(counts_denied(Charge::kIndependent));
  EXPECT_TRUE(counts_denied(Charge::kAllOrDenying));
  EXPECT_TRUE(counts_denied(Charge::kEveryHit));
}

// Only a counter has a place for what does not fit.
TEST(Charges, CountWhatIsDeniedOnlyInFixedWindows) {
  for (const AlgorithmTraits& traits : kAlgorithms) {
    const bool counter = traits.algorithm == Algorithm::kFixedWindow;
    EXPECT_TRUE(can_charge(Charge::kAllOrNothing, traits.algorithm));
    EXPECT_TRUE(can_charge(Charge::kIndependent, traits.algorithm));
    EXPECT_EQ(can_charge(Charge::kAllOrDenying, traits.algorithm), counter);
    EXPECT_EQ(can_charge(Charge::kEveryHit, traits.algorithm), counter);
  }
}

TEST(MakeCounter, CountsEveryHitInWindowsFromTheEpoch) {
  const Limit limit = make_counter(5, std::chrono::minutes(1));
  EXPECT_EQ(limit.charge, Charge::kEveryHit);
  EXPECT_TRUE(can_charge(limit.charge, limit.algorithm));
  EXPECT_FALSE(limit.is_plain());
  EXPECT_EQ(limit.rules->align, Align::kEpoch);
  EXPECT_EQ(limit.suffix, "!fw");
  EXPECT_EQ(limit.rate, (Rate{std::chrono::seconds(12), 5}));
  EXPECT_EQ(window_of(limit), std::chrono::minutes(1));
}

TEST(MakeCounter, AdmitsNothingOrAsMuchAsItCounts) {
  const Limit none = make_counter(0, std::chrono::minutes(1));
  EXPECT_EQ(none.rate, (Rate{std::chrono::minutes(1), 0}));
  EXPECT_EQ(ceiling_of(none, 0), 0);
  const Limit most = make_counter(kMaxUnits, std::chrono::seconds(1));
  EXPECT_EQ(most.rate, (Rate{Duration(1), kMaxUnits}));
}

TEST(Names, AreThoseOfLimitsYaml) {
  EXPECT_STREQ(mode_name(Mode::kEnforce), "enforce");
  EXPECT_STREQ(mode_name(Mode::kShadow), "shadow");
  EXPECT_STREQ(mode_name(Mode::kCheck), "check");
  EXPECT_STREQ(traits_of(Algorithm::kGcra).name, "gcra");
}

}  // namespace
}  // namespace limitree
