#include "store/redis/drive/patience.hpp"

#include <gtest/gtest.h>

namespace limitree::redis {
namespace {

using namespace std::chrono_literals;

constexpr Monotonic kStart{1h};

TEST(Patience, LastsUntilTheDeadline) {
  Patience patience(kStart, kStart + 50ms);
  for (auto at = 0ms; at < 50ms; at += 10ms) {
    EXPECT_EQ(patience.look(kStart + at), kStart + at);
    EXPECT_FALSE(patience.over());
    EXPECT_EQ(patience.left(), 50ms - at);
    EXPECT_EQ(patience.wait_until(), kStart + at + 10ms);
  }
  patience.look(kStart + 50ms);
  EXPECT_TRUE(patience.over());
}

TEST(Patience, WaitsNoLongerThanTheDeadline) {
  Patience patience(kStart, kStart + 53ms);
  patience.look(kStart + 15ms);
  patience.look(kStart + 30ms);
  patience.look(kStart + 45ms);
  EXPECT_EQ(patience.wait_until(), kStart + 53ms);
}

TEST(Patience, TimersMayBeLate) {
  Patience patience(kStart, kStart + 60ms);
  for (auto at = 20ms; at < 60ms; at += 20ms) {
    patience.look(kStart + at);
    EXPECT_FALSE(patience.over());
  }
  patience.look(kStart + 60ms);
  EXPECT_TRUE(patience.over());
}

// However long the thread did not run, a beat of it counts.
TEST(Patience, LostTimeDoesNotCount) {
  for (const Duration stop : {Duration(60ms), Duration(500ms), Duration(1h)}) {
    Patience patience(kStart, kStart + 50ms);
    patience.look(kStart + 5ms);
    patience.look(kStart + 5ms + stop);
    EXPECT_FALSE(patience.over());
    EXPECT_EQ(patience.left(), 35ms);
  }
}

TEST(Patience, ATimeBeforeTheLastLookIsThat) {
  Patience patience(kStart, kStart + 50ms);
  patience.look(kStart + 7ms);
  EXPECT_EQ(patience.look(kStart + 3ms), kStart + 7ms);
  EXPECT_EQ(patience.left(), 43ms);
}

TEST(Patience, WaitsThatWereMeantCount) {
  Patience patience(kStart, kStart + 100ms);
  patience.look_after(60ms, kStart + 61ms);
  EXPECT_EQ(patience.left(), 39ms);
  patience.look_after(10ms, kStart + 500ms);
  EXPECT_EQ(patience.left(), 19ms);
}

TEST(Patience, HalfOfItIsForOneOfSeveral) {
  Patience patience(kStart, kStart + 100ms);
  Patience half = patience.half();
  EXPECT_EQ(half.left(), 50ms);
  for (auto at = 10ms; at <= 50ms; at += 10ms) half.look(kStart + at);
  EXPECT_TRUE(half.over());
  patience.look_after(half);
  EXPECT_EQ(patience.left(), 50ms);

  // What one lost, the other does not count either.
  half = patience.half();
  half.look(kStart + 50ms + 1s);
  EXPECT_EQ(half.left(), 15ms);
  patience.look_after(half);
  EXPECT_EQ(patience.left(), 40ms);
}

}  // namespace
}  // namespace limitree::redis
