#include "store/remote/common/traffic.hpp"

#include <gtest/gtest.h>

#include "store/redis/common/remote.hpp"

namespace limitree::redis {
namespace {

std::size_t bucket_of(std::int64_t ns) {
  Traffic traffic;
  traffic.count_round_trip(Duration(ns));
  std::size_t bucket = 0;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < Traffic::kBuckets; ++i) {
    if (traffic.round_trips[i] != 0) bucket = i;
    sum += traffic.round_trips[i];
  }
  EXPECT_EQ(sum, 1);
  return bucket;
}

TEST(Traffic, SortsRoundTripsByPowersOfTwo) {
  EXPECT_EQ(bucket_of(0), 0U);
  EXPECT_EQ(bucket_of(15'999), 0U);
  for (std::size_t i = 1; i < Traffic::kBuckets; ++i) {
    const std::int64_t least = std::int64_t{16'000} << (i - 1);
    EXPECT_EQ(bucket_of(least - 1), i - 1);
    EXPECT_EQ(bucket_of(least), i);
  }
  EXPECT_EQ(bucket_of(INT64_MAX), Traffic::kBuckets - 1);
}

TEST(Traffic, SumsTheTimeTaken) {
  Traffic traffic;
  traffic.count_round_trip(Duration(70'000));
  traffic.count_round_trip(Duration(5));
  EXPECT_EQ(traffic.round_trip_ns, 70'005);
}

// A clock that steps back must not reduce the sum.
TEST(Traffic, NoRoundTripTakesLessThanNothing) {
  EXPECT_EQ(bucket_of(-1), 0U);
  Traffic traffic;
  traffic.count_round_trip(Duration(-70'000));
  EXPECT_EQ(traffic.round_trip_ns, 0);
}

TEST(Traffic, CountsFailuresApart) {
  Traffic traffic;
  traffic.count(Failure::kOther);
  traffic.count(Failure::kTimeout);
  traffic.count(Failure::kOther);
  for (std::size_t i = 0; i < kFailureCount; ++i) {
    const auto failure = static_cast<Failure>(i);
    EXPECT_EQ(traffic.failures[i], failure == Failure::kOther     ? 2
                                   : failure == Failure::kTimeout ? 1
                                                                  : 0);
  }
}

}  // namespace
}  // namespace limitree::redis
