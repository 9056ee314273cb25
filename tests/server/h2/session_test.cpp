#include <gtest/gtest.h>

#include "h2/stream.hpp"

namespace limitree::server {
namespace {

TEST(Allowance, AllowsABurstAndThenTheRate) {
  Allowance allowance(10, 100, {});
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(allowance.take({}));
  EXPECT_FALSE(allowance.take({}));
  EXPECT_FALSE(allowance.take(Monotonic(10 * kMillisecond - Duration(1))));
  EXPECT_TRUE(allowance.take(Monotonic(10 * kMillisecond)));
  EXPECT_FALSE(allowance.take(Monotonic(10 * kMillisecond)));
}

TEST(Allowance, WhatIsGivenCanBeTaken) {
  Allowance allowance(10, 100, {});
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(allowance.take({}));
  allowance.give(2);
  EXPECT_TRUE(allowance.take({}));
  EXPECT_TRUE(allowance.take({}));
  EXPECT_FALSE(allowance.take({}));
}

TEST(Allowance, SeveralAreTakenTogetherOrNotAtAll) {
  Allowance allowance(10, 100, {});
  EXPECT_TRUE(allowance.take({}, 7));
  EXPECT_FALSE(allowance.take({}, 4));
  EXPECT_TRUE(allowance.take({}, 3));
}

TEST(Allowance, IsNeverMoreThanTheBurst) {
  Allowance allowance(10, 100, {});
  allowance.give(1000);
  int count = 0;
  while (allowance.take(Monotonic(3600 * kOneSecond))) ++count;
  EXPECT_EQ(count, 10);
}

}  // namespace
}  // namespace limitree::server
