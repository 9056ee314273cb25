#include "base/limit.hpp"

#include <gtest/gtest.h>

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

TEST(Names, AreThoseOfLimitsYaml) {
  EXPECT_STREQ(mode_name(Mode::kEnforce), "enforce");
  EXPECT_STREQ(mode_name(Mode::kShadow), "shadow");
  EXPECT_STREQ(mode_name(Mode::kCheck), "check");
  EXPECT_STREQ(charge_name(Charge::kAllOrNothing), "all_or_nothing");
  EXPECT_STREQ(charge_name(Charge::kIndependent), "independent");
  EXPECT_STREQ(traits_of(Algorithm::kGcra).name, "gcra");
}

}  // namespace
}  // namespace limitree
