#include "stats/histogram.hpp"

#include <gtest/gtest.h>

namespace limitree::server {
namespace {

TEST(Histogram, RangesEndAtOneDigitAndZeros) {
  EXPECT_EQ(range_end(0), Duration(1'000));
  EXPECT_EQ(range_end(8), Duration(9'000));
  EXPECT_EQ(range_end(9), Duration(10'000));
  EXPECT_EQ(range_end(10), Duration(20'000));
  EXPECT_EQ(range_end(kBoundCount - 1), 10 * kOneSecond);
}

TEST(Histogram, TheEndOfARangeBelongsToIt) {
  for (std::size_t i = 0; i < kBoundCount; ++i) {
    EXPECT_EQ(range_of(range_end(i)), i);
    EXPECT_EQ(range_of(range_end(i) + Duration(1)), i + 1);
  }
}

TEST(Histogram, ATimeIsInTheFirstRangeThatItDoesNotExceed) {
  for (Duration time(1); time < 20 * kOneSecond;
       time += time / 50 + Duration(1)) {
    std::size_t i = 0;
    while (i < kBoundCount && time > range_end(i)) ++i;
    ASSERT_EQ(range_of(time), i) << time.count();
  }
}

TEST(Histogram, TakesEveryTime) {
  EXPECT_EQ(range_of(Duration(0)), 0u);
  EXPECT_EQ(range_of(Duration(-1)), 0u);
  EXPECT_EQ(range_of(Duration::min()), 0u);
  EXPECT_EQ(range_of(Duration::max()), kBoundCount);
}

TEST(Histogram, CountsAndAddsUp) {
  Histogram histogram;
  histogram.add(Duration(1'500));
  histogram.add(Duration(1'600), 3);
  histogram.add(kOneSecond);
  const HistogramCounts counts = histogram.get();
  EXPECT_EQ(counts.total(), 5u);
  EXPECT_EQ(counts.counts[range_of(Duration(1'500))], 4u);
  EXPECT_EQ(counts.sum_ns, 1'500u + 3 * 1'600u + 1'000'000'000u);
}

TEST(Histogram, ADifferenceHasWhatCameBetween) {
  Histogram histogram;
  histogram.add(Duration(1'500));
  const HistogramCounts before = histogram.get();
  histogram.add(Duration(2'500), 2);
  HistogramCounts counts = histogram.get();
  counts -= before;
  EXPECT_EQ(counts.total(), 2u);
  EXPECT_EQ(counts.sum_ns, 5'000u);
}

TEST(Histogram, FewTimesAreOneSampleEach) {
  Histogram histogram;
  histogram.add(Duration(1'500), 2);
  histogram.add(Duration(70'000'000));
  const std::vector<TimeSample> samples = histogram.get().samples(100);
  ASSERT_EQ(samples.size(), 3u);
  for (const TimeSample& sample : samples) EXPECT_EQ(sample.weight, 1);
  EXPECT_GT(samples[0].time, Duration(1'000));
  EXPECT_LT(samples[1].time, Duration(2'000));
  EXPECT_GT(samples[2].time, Duration(60'000'000));
  EXPECT_LE(samples[2].time, Duration(70'000'000));
}

TEST(Histogram, SamplesOfManyTimesAreDistributedAsTheyAre) {
  Histogram histogram;
  histogram.add(Duration(15'000), 9'000);  // nine of ten
  histogram.add(Duration(5'000'000), 1'000);
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
  histogram.add(3'600 * kOneSecond);
  EXPECT_EQ(histogram.get().samples(1)[0].time, 10 * kOneSecond);
}

}  // namespace
}  // namespace limitree::server
