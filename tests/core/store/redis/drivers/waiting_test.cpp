#include "store/remote/drivers/waiting.hpp"

#include <gtest/gtest.h>

#include "store/redis/common/remote.hpp"

namespace limitree::redis {
namespace {

// ---- Patience ---------------------------------------------------------------

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
  Patience patience(kStart, kStart + 75ms);
  for (auto at = 25ms; at < 75ms; at += 25ms) {
    patience.look(kStart + at);
    EXPECT_FALSE(patience.over());
  }
  patience.look(kStart + 75ms);
  EXPECT_TRUE(patience.over());
}

// However long the thread could not run, only one beat of that time counts.
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

TEST(Patience, BeginsWhenTheServerIsAsked) {
  Patience patience(kStart, kStart + 50ms);
  patience.look(kStart + 10ms);
  patience.skip_to(kStart + 30ms);
  EXPECT_EQ(patience.looked(), kStart + 30ms);
  EXPECT_EQ(patience.left(), 40ms);
  patience.skip_to(kStart + 20ms);
  EXPECT_EQ(patience.looked(), kStart + 30ms);
  EXPECT_EQ(patience.left(), 40ms);
}

TEST(Patience, HalfOfItIsForOneOfSeveral) {
  Patience patience(kStart, kStart + 100ms);
  Patience half = patience.half();
  EXPECT_EQ(half.left(), 50ms);
  for (auto at = 10ms; at <= 50ms; at += 10ms) half.look(kStart + at);
  EXPECT_TRUE(half.over());
  patience.look_after(half);
  EXPECT_EQ(patience.left(), 50ms);

  // Time that does not count for one does not count for the other.
  half = patience.half();
  half.look(kStart + 50ms + 1s);
  EXPECT_EQ(half.left(), 15ms);
  patience.look_after(half);
  EXPECT_EQ(patience.left(), 40ms);
}

// ---- RunningTime ------------------------------------------------------------

TEST(RunningTime, GoesOnBetweenRunsThatComeInTime) {
  RunningTime time;
  EXPECT_EQ(time.begin(kStart), kStart);
  time.end(kStart + 100us);
  EXPECT_EQ(time.want(kStart + 10ms), kStart + 10ms);
  EXPECT_EQ(time.want(kStart + 20ms), std::nullopt) << "an earlier one is";
  EXPECT_EQ(time.begin(kStart + 7ms), kStart + 7ms);
  time.end(kStart + 7ms);
  EXPECT_EQ(time.begin(kStart + 10500us), kStart + 10500us);
  time.end(kStart + 10500us);
  EXPECT_EQ(time.want(kStart + 20ms), kStart + 20ms);
}

// Whether the process was stopped for long or, again and again, for moments.
TEST(RunningTime, RunsThatComeLateLoseNobodyTime) {
  for (const Duration late : {Duration(2ms), Duration(9ms), Duration(1h)}) {
    RunningTime time;
    Monotonic real = kStart;
    Monotonic now = time.begin(real);
    for (int i = 0; i < 10; ++i) {
      time.end(real);
      real = time.want(now + 10ms).value() + late;
      now = time.begin(real);
    }
    EXPECT_EQ(now, kStart + 100ms);
    EXPECT_EQ(real, now + 10 * late);
  }
}

// What is started in a run is sent at its end.
TEST(RunningTime, StandsStillInARun) {
  RunningTime time;
  const Monotonic now = time.begin(kStart);
  time.end(kStart + 30ms);
  EXPECT_EQ(time.want(now + 10ms), kStart + 40ms);
  EXPECT_EQ(time.begin(kStart + 40ms), now + 10ms);
}

// A run in which the next one became due.
TEST(RunningTime, CountsOnceWhatIsLost) {
  RunningTime time;
  const Monotonic now = time.begin(kStart);
  time.end(kStart);
  time.want(now + 10ms);
  EXPECT_EQ(time.begin(kStart + 5ms), now + 5ms);
  time.end(kStart + 30ms);
  EXPECT_EQ(time.want(now + 10ms), kStart + 35ms);
  EXPECT_EQ(time.begin(kStart + 50ms), now + 10ms);
}

// The run may have read the event of its timer: nothing else would come.
TEST(RunningTime, WantsAgainWhatBecameDueInARun) {
  RunningTime time;
  time.begin(kStart);
  time.end(kStart);
  time.want(kStart + 10ms);
  time.begin(kStart + 10ms - 1us);
  time.end(kStart + 10ms);
  EXPECT_EQ(time.want(kStart + 20ms), kStart + 20ms);
}

// Without a wish there is nothing to be late for.
TEST(RunningTime, GoesOnWhileNothingIsWanted) {
  RunningTime time;
  time.begin(kStart);
  time.end(kStart);
  EXPECT_EQ(time.begin(kStart + 1h), kStart + 1h);
}

}  // namespace
}  // namespace limitree::redis
