#include "histogram.hpp"

#include <gtest/gtest.h>

namespace limitree::cli {
namespace {

constexpr std::int64_t kHour = 3600;
constexpr std::int64_t kMonday = 1'772'409'600;  // 2026-03-02 00:00 UTC

std::int64_t requests(const Histogram& histogram) {
  std::int64_t sum = 0;
  for (const Histogram::Bin& bin : histogram.bins()) sum += bin.requests;
  return sum;
}

TEST(Histogram, StartsWithSeconds) {
  Histogram histogram;
  histogram.add(kMonday, false);
  histogram.add(kMonday, true);
  histogram.add(kMonday + 2, false);
  EXPECT_EQ(histogram.bin_seconds(), 1);
  EXPECT_EQ(histogram.begin_unix_s(), kMonday);
  ASSERT_EQ(histogram.bins().size(), 3U);
  EXPECT_EQ(histogram.bins()[0].requests, 2);
  EXPECT_EQ(histogram.bins()[0].limited, 1);
  EXPECT_EQ(histogram.bins()[1].requests, 0);
  EXPECT_EQ(histogram.bins()[2].requests, 1);
}

TEST(Histogram, JoinsBinsWhenTimeRunsOutOfThem) {
  Histogram histogram;
  for (std::int64_t s = 0; s < 33; ++s) histogram.add(kMonday + s, s == 7);
  EXPECT_EQ(histogram.bin_seconds(), 5);
  ASSERT_EQ(histogram.bins().size(), 7U);
  EXPECT_EQ(histogram.bins()[1].requests, 5);
  EXPECT_EQ(histogram.bins()[1].limited, 1);
  EXPECT_EQ(histogram.bins()[6].requests, 3);
}

TEST(Histogram, ADayIsHours) {
  Histogram histogram;
  for (std::int64_t s = 17; s < 24 * kHour; s += 60) {
    histogram.add(kMonday + s, false);
  }
  EXPECT_EQ(histogram.bin_seconds(), kHour);
  EXPECT_EQ(histogram.begin_unix_s(), kMonday);
  ASSERT_EQ(histogram.bins().size(), 24U);
  for (const Histogram::Bin& bin : histogram.bins()) {
    EXPECT_EQ(bin.requests, 60);
  }
}

TEST(Histogram, BinsBeginOnTheLogsClock) {
  Histogram histogram;
  histogram.align(5 * kHour + kHour / 2);
  histogram.add(kMonday, false);
  histogram.add(kMonday + 3 * 24 * kHour, false);
  EXPECT_EQ(histogram.bin_seconds(), 6 * kHour);
  // 00:00 UTC is 05:30 there, and its quarter of the day began at 00:00.
  EXPECT_EQ(histogram.begin_unix_s(), kMonday - 5 * kHour - kHour / 2);
}

TEST(Histogram, OneLeapOverAThousandYears) {
  Histogram histogram;
  histogram.add(kMonday, true);
  histogram.add(kMonday + 1000 * 365 * 24 * kHour, false);
  EXPECT_LE(histogram.bins().size(), Histogram::kMaxBins);
  EXPECT_EQ(requests(histogram), 2);
  EXPECT_EQ(histogram.bins().front().limited, 1);
}

TEST(Histogram, BeforeTheEpoch) {
  Histogram histogram;
  histogram.add(-100, false);
  histogram.add(-1, false);
  histogram.add(50, false);
  EXPECT_LE(histogram.begin_unix_s(), -100);
  EXPECT_EQ(requests(histogram), 3);
}

TEST(Histogram, LosesNothing) {
  Histogram histogram;
  std::int64_t at = kMonday;
  for (std::int64_t i = 0; i < 5000; ++i) {
    histogram.add(at += i * i % 977, i % 3 == 0);
    ASSERT_LE(histogram.bins().size(), Histogram::kMaxBins);
    ASSERT_EQ(requests(histogram), i + 1);
  }
}

}  // namespace
}  // namespace limitree::cli
