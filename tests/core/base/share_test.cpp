#include <gtest/gtest.h>

#include "base/limit.hpp"

namespace limitree {
namespace {

constexpr Share kEighth{1, 8};

TEST(Share, OfNumbersIsRoundedDown) {
  EXPECT_EQ(share_of(std::int64_t{16}, kEighth), 2);
  EXPECT_EQ(share_of(std::int64_t{15}, kEighth), 1);
  EXPECT_EQ(share_of(std::int64_t{7}, kEighth), 0);
  EXPECT_EQ(share_of(INT64_MAX, {1, 1}), INT64_MAX);
  EXPECT_EQ(share_of(INT64_MAX, {999'999'999, Share::kMaxWhole}),
            INT64_MAX / Share::kMaxWhole * 999'999'999 + 854'775'806);
}

TEST(Share, IsReachedAtItsBorder) {
  const Share most{8, 10};
  EXPECT_FALSE(reaches(11, 15, most));
  EXPECT_TRUE(reaches(12, 15, most));
  EXPECT_TRUE(reaches(4, 5, most));
  EXPECT_FALSE(reaches(INT64_MAX / 5 * 4 - 1, INT64_MAX / 5 * 5, most));
  EXPECT_TRUE(reaches(INT64_MAX / 5 * 4, INT64_MAX / 5 * 5, most));
}

TEST(Share, OfARateIsItsPaceAndItsCapacity) {
  const Rate rate{std::chrono::seconds(2), 16};
  EXPECT_EQ(share_of(rate, kEighth), (Rate{std::chrono::seconds(16), 2}));
  EXPECT_EQ(share_of(rate, Share()), rate);
  // 1 ns x 3 / 2, rounded up: not more often than the share says.
  EXPECT_EQ(share_of(Rate{Duration(1), 10}, {2, 3}), (Rate{Duration(2), 6}));
}

TEST(Share, OfASmallBucketHoldsOneToken) {
  const Rate rate{std::chrono::seconds(1), 3};
  EXPECT_EQ(share_of(rate, kEighth), (Rate{std::chrono::seconds(8), 1}));
}

TEST(Share, OfNothingIsNothing) {
  const Rate none{std::chrono::seconds(1), 0};
  EXPECT_EQ(share_of(none, kEighth), none);
}

// Eight processes with an eighth each admit no more than one with all of it.
TEST(Share, PartsAreNoMoreThanTheWhole) {
  for (std::int64_t capacity = 8; capacity < 100; ++capacity) {
    const Rate whole{Duration(1001), capacity};
    const Rate part = share_of(whole, kEighth);
    EXPECT_LE(8 * part.capacity, whole.capacity);
    EXPECT_GE(part.emission_interval, 8 * whole.emission_interval);
  }
}

TEST(Share, StaysInTheRangeOfTime) {
  const Rate slow{kMaxBurstOffset, 1};
  const Rate part = share_of(slow, {1, Share::kMaxWhole});
  EXPECT_EQ(part.capacity, 1);
  EXPECT_EQ(part.burst_offset(), kMaxBurstOffset);
  const Rate large{Duration(1), kMaxBurstOffset / Duration(1)};
  const Rate third = share_of(large, {1, 3});
  EXPECT_LE(third.burst_offset(), Duration(kMaxBurstOffset));
  EXPECT_EQ(third.emission_interval, Duration(3));
}

}  // namespace
}  // namespace limitree
