#include "h2/session.hpp"

#include <gtest/gtest.h>

namespace limitree::server {
namespace {

TEST(Allowance, AllowsABurstAndThenTheRate) {
  Allowance allowance(10, 100, 0);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(allowance.take(0));
  EXPECT_FALSE(allowance.take(0));
  EXPECT_FALSE(allowance.take(10 * kMillisecond - 1));
  EXPECT_TRUE(allowance.take(10 * kMillisecond));
  EXPECT_FALSE(allowance.take(10 * kMillisecond));
}

TEST(Allowance, WhatIsGivenCanBeTaken) {
  Allowance allowance(10, 100, 0);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(allowance.take(0));
  allowance.give(2);
  EXPECT_TRUE(allowance.take(0));
  EXPECT_TRUE(allowance.take(0));
  EXPECT_FALSE(allowance.take(0));
}

TEST(Allowance, SeveralAreTakenTogetherOrNotAtAll) {
  Allowance allowance(10, 100, 0);
  EXPECT_TRUE(allowance.take(0, 7));
  EXPECT_FALSE(allowance.take(0, 4));
  EXPECT_TRUE(allowance.take(0, 3));
}

TEST(Allowance, IsNeverMoreThanTheBurst) {
  Allowance allowance(10, 100, 0);
  allowance.give(1000);
  int count = 0;
  while (allowance.take(3600 * kSecond)) ++count;
  EXPECT_EQ(count, 10);
}

}  // namespace
}  // namespace limitree::server
