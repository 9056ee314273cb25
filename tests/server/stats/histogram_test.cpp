#include "stats/histogram.hpp"

#include <gtest/gtest.h>

namespace limitree::server {
namespace {

TEST(Histogram, RangesEndAtOneDigitAndZeros) {
  EXPECT_EQ(range_end(0), 1'000);
  EXPECT_EQ(range_end(8), 9'000);
  EXPECT_EQ(range_end(9), 10'000);
  EXPECT_EQ(range_end(10), 20'000);
  EXPECT_EQ(range_end(kBoundCount - 1), 10 * kSecond);
}

TEST(Histogram, TheEndOfARangeBelongsToIt) {
  for (std::size_t i = 0; i < kBoundCount; ++i) {
    EXPECT_EQ(range_of(range_end(i)), i);
    EXPECT_EQ(range_of(range_end(i) + 1), i + 1);
  }
}

TEST(Histogram, ATimeIsInTheFirstRangeThatItDoesNotExceed) {
  for (Nanoseconds time = 1; time < 20 * kSecond; time += time / 50 + 1) {
    std::size_t i = 0;
    while (i < kBoundCount && time > range_end(i)) ++i;
    ASSERT_EQ(range_of(time), i) << time;
  }
}

TEST(Histogram, TakesEveryTime) {
  EXPECT_EQ(range_of(0), 0u);
  EXPECT_EQ(range_of(-1), 0u);
  EXPECT_EQ(range_of(INT64_MIN), 0u);
  EXPECT_EQ(range_of(INT64_MAX), kBoundCount);
}

TEST(Histogram, CountsAndAddsUp) {
  Histogram histogram;
  histogram.add(1'500);
  histogram.add(1'600, 3);
  histogram.add(kSecond);
  const HistogramCounts counts = histogram.get();
  EXPECT_EQ(counts.total(), 5u);
  EXPECT_EQ(counts.counts[range_of(1'500)], 4u);
  EXPECT_EQ(counts.sum_ns, 1'500u + 3 * 1'600u + 1'000'000'000u);
}

TEST(Histogram, ADifferenceHasWhatCameBetween) {
  Histogram histogram;
  histogram.add(1'500);
  const HistogramCounts before = histogram.get();
  histogram.add(2'500, 2);
  HistogramCounts counts = histogram.get();
  counts -= before;
  EXPECT_EQ(counts.total(), 2u);
  EXPECT_EQ(counts.sum_ns, 5'000u);
}

TEST(Histogram, FewTimesAreOneSampleEach) {
  Histogram histogram;
  histogram.add(1'500, 2);
  histogram.add(70'000'000);
  const std::vector<TimeSample> samples = histogram.get().samples(100);
  ASSERT_EQ(samples.size(), 3u);
  for (const TimeSample& sample : samples) EXPECT_EQ(sample.weight, 1);
  EXPECT_GT(samples[0].time, 1'000);
  EXPECT_LT(samples[1].time, 2'000);
  EXPECT_GT(samples[2].time, 60'000'000);
  EXPECT_LE(samples[2].time, 70'000'000);
}

TEST(Histogram, SamplesOfManyTimesAreDistributedAsTheyAre) {
  Histogram histogram;
  histogram.add(15'000, 9'000);  // nine of ten
  histogram.add(5'000'000, 1'000);
  const std::vector<TimeSample> samples = histogram.get().samples(100);
  ASSERT_EQ(samples.size(), 100u);
  double weight = 0;
  int slow = 0;
  for (const TimeSample& sample : samples) {
    weight += sample.weight;
    slow += sample.time > kMillisecond ? 1 : 0;
  }
  EXPECT_EQ(weight, 10'000);
  EXPECT_EQ(slow, 10);
}

TEST(Histogram, NothingHasNoSamples) {
  EXPECT_TRUE(HistogramCounts().samples(100).empty());
}

TEST(Histogram, TimesAboveTheLastRangeAreItsEnd) {
  Histogram histogram;
  histogram.add(3'600 * kSecond);
  EXPECT_EQ(histogram.get().samples(1)[0].time, 10 * kSecond);
}

}  // namespace
}  // namespace limitree::server
