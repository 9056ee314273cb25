#include "store/remote/common/health.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "store/redis/common/remote.hpp"

namespace limitree::redis {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const Monotonic kStart{std::chrono::hours(1)};

// Reports just enough failures to open the circuit.
void open_at(Monotonic now, Health* health) {
  for (int i = 0; i < Health::kFailuresToOpen; ++i) {
    health->failed(Failure::kTimeout, now);
  }
}

TEST(Health, StartsWell) {
  Health health;
  EXPECT_FALSE(health.open());
  EXPECT_LT(health.next_try(), kStart);
  EXPECT_TRUE(health.may_try(kStart));
  EXPECT_TRUE(health.may_try(kStart));
}

TEST(Health, OpensAfterSomeFailuresInARow) {
  Health health;
  for (int i = 1; i < Health::kFailuresToOpen; ++i) {
    health.failed(Failure::kTimeout, kStart);
    EXPECT_FALSE(health.open());
    EXPECT_TRUE(health.may_try(kStart));
  }
  health.failed(Failure::kTimeout, kStart);
  EXPECT_TRUE(health.open());
}

TEST(Health, ASuccessEndsTheRow) {
  Health health;
  for (int i = 0; i < 3 * Health::kFailuresToOpen; ++i) {
    health.failed(Failure::kTimeout, kStart);
    health.succeeded();
    EXPECT_FALSE(health.open());
  }
}

TEST(Health, SilenceOpensAtOnce) {
  Health health;
  health.silent(kStart);
  EXPECT_TRUE(health.open());
  EXPECT_LE(health.next_try(), kStart + Health::kShortWait);
  health.succeeded();
  EXPECT_FALSE(health.open());
}

TEST(Health, ConnectionsThatBreakTogetherAreOneFailure) {
  Health health;
  for (int i = 0; i < 100; ++i) {
    health.broke(kStart, kStart + seconds(1) + milliseconds(i));
    EXPECT_FALSE(health.open());
  }
  // Each later one that breaks counts.
  health.broke(kStart + seconds(2), kStart + seconds(3));
  EXPECT_FALSE(health.open());
  health.broke(kStart + seconds(2), kStart + seconds(3));
  EXPECT_FALSE(health.open());
  health.broke(kStart + seconds(4), kStart + seconds(5));
  EXPECT_TRUE(health.open());
}

TEST(Health, OneThatWasLetThroughAndBreaksWithOthersKeepsNobodyWaiting) {
  Health health;
  health.broke(kStart, kStart + seconds(1));
  open_at(kStart + seconds(1), &health);
  const Monotonic later = kStart + seconds(9);
  ASSERT_TRUE(health.may_try(later));
  ASSERT_FALSE(health.may_try(later));
  health.broke(kStart, later);
  EXPECT_TRUE(health.open());
  EXPECT_TRUE(health.may_try(later));
  // While nobody tries, the wait goes on.
  health.failed(Failure::kTimeout, later);
  const Monotonic next = health.next_try();
  health.broke(kStart, later);
  EXPECT_EQ(health.next_try(), next);
}

// Silence counts once, however many callers report it.
TEST(Health, SilenceIsOneFailure) {
  for (int run = 0; run < 10; ++run) {
    Health health;
    const Monotonic now = kStart + Duration(run);
    health.silent(now);
    const Monotonic due = health.next_try();
    if (due <= now) continue;  // the random wait is zero
    for (int i = 0; i < 1000; ++i) health.silent(now);
    EXPECT_EQ(health.next_try(), due);
  }
}

TEST(Health, LetsTryAtOnceIfToldSo) {
  Health health;
  open_at(kStart, &health);
  ASSERT_TRUE(health.may_try(health.next_try()));
  const Monotonic now = health.next_try() + milliseconds(1);
  health.let_try(now);
  EXPECT_TRUE(health.open());
  EXPECT_TRUE(health.may_try(now));
  EXPECT_FALSE(health.may_try(now));
}

TEST(Health, WaitsBeforeItTriesAgain) {
  Health health;
  open_at(kStart, &health);
  const Monotonic due = health.next_try();
  EXPECT_GE(due + Duration(1), kStart);
  EXPECT_LE(due, kStart + Health::kShortWait);
  EXPECT_FALSE(health.may_try(due - Duration(1)));
  EXPECT_TRUE(health.may_try(due));
}

TEST(Health, LetsOneThroughUntilThatOneHasReported) {
  Health health;
  open_at(kStart, &health);
  const Monotonic due = health.next_try();
  EXPECT_TRUE(health.may_try(due));
  EXPECT_FALSE(health.may_try(due));
  EXPECT_FALSE(health.may_try(due + Health::kLongestWait - Duration(1)));
}

TEST(Health, ClosesWhenTheOneSucceeds) {
  Health health;
  open_at(kStart, &health);
  EXPECT_TRUE(health.may_try(health.next_try()));
  health.succeeded();
  EXPECT_FALSE(health.open());
  EXPECT_LT(health.next_try(), kStart);
  EXPECT_TRUE(health.may_try(kStart));
  EXPECT_TRUE(health.may_try(kStart));
}

TEST(Health, WaitsAgainWhenTheOneFails) {
  Health health;
  open_at(kStart, &health);
  const Monotonic tried = health.next_try();
  EXPECT_TRUE(health.may_try(tried));
  health.failed(Failure::kTimeout, tried + milliseconds(10));
  EXPECT_LE(health.next_try(), tried + milliseconds(10) + seconds(2));
  EXPECT_TRUE(health.may_try(health.next_try()));
}

// The thread that tries may end before it reports.  After fork() it may exist
// only in the parent.
TEST(Health, TheOneThatNeverReportsIsReplaced) {
  Health health;
  open_at(kStart, &health);
  Monotonic now = health.next_try();
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(health.may_try(now));
    EXPECT_FALSE(health.may_try(now));
    now += Health::kLongestWait + Duration(1);
  }
}

TEST(Health, WaitsDoubleUpToTheLongest) {
  // The longest of many random waits comes close to the upper bound.
  constexpr std::size_t kAttempts = 12;
  std::vector<Duration> largest(kAttempts, Duration::zero());
  for (int run = 0; run < 400; ++run) {
    Health health;
    Monotonic now = kStart + Duration(run);
    open_at(now, &health);
    for (std::size_t i = 0; i < kAttempts; ++i) {
      const Duration wait = health.next_try() - now;
      largest[i] = std::max(largest[i], wait);
      now = std::max(now, health.next_try());
      ASSERT_TRUE(health.may_try(now));
      health.failed(Failure::kTimeout, now);
    }
  }
  Duration most = Health::kShortWait;
  for (const Duration wait : largest) {
    EXPECT_LE(wait, most);
    EXPECT_GT(wait, most * 9 / 10);
    most = std::min<Duration>(2 * most, Health::kLongestWait);
  }
}

// However long a server has been away, it is tried again soon if that costs it
// and the callers nothing.
TEST(Health, AfterACheapFailureWaitsStayShort) {
  ASSERT_TRUE(is_cheap(Failure::kRefused));
  Duration least = Duration::max();
  Duration most = Duration::zero();
  for (int run = 0; run < 20; ++run) {
    Health health;
    Monotonic now = kStart + Duration(run);
    for (int i = 0; i < 50; ++i) {
      health.failed(Failure::kRefused, now);
      if (!health.open()) continue;
      least = std::min<Duration>(least, health.next_try() - now);
      most = std::max<Duration>(most, health.next_try() - now);
      now = health.next_try();
      ASSERT_TRUE(health.may_try(now));
    }
  }
  EXPECT_GE(least + Duration(1), Health::kShortWait / 2);
  EXPECT_LT(least, Health::kShortWait * 6 / 10);
  EXPECT_GT(most, Health::kShortWait * 9 / 10);
  EXPECT_LE(most, Health::kShortWait);
}

TEST(Health, WaitsAreDrawnFromZeroOn) {
  int short_ones = 0;
  std::set<Duration> waits;
  for (int run = 0; run < 400; ++run) {
    Health health;
    const Monotonic now = kStart + Duration(run);
    open_at(now, &health);
    waits.insert(health.next_try() - now);
    if (health.next_try() - now < Health::kShortWait / 2) ++short_ones;
  }
  EXPECT_GT(waits.size(), 390U);
  EXPECT_GT(short_ones, 150);
  EXPECT_LT(short_ones, 250);
}

// When a server dies, all commands on their way to it fail.  If each of them
// counted, the next attempt would have to wait for seconds.
TEST(Health, ManyFailuresOfOneMomentCountOnce) {
  int waited = 0;
  for (int run = 0; run < 10; ++run) {
    Health health;
    const Monotonic now = kStart + Duration(run);
    open_at(now, &health);
    const Monotonic due = health.next_try();
    if (due <= now) continue;  // the random wait is zero
    ++waited;
    for (int i = 0; i < 1000; ++i) health.failed(Failure::kTimeout, now);
    EXPECT_EQ(health.next_try(), due);
  }
  EXPECT_GT(waited, 0);
}

TEST(Health, StaysOpenHoweverLongItFails) {
  Health health;
  Monotonic now = kStart;
  for (int i = 0; i < 10'000; ++i) {
    health.failed(Failure::kTimeout, now);
    ASSERT_LE(health.next_try(), now + Health::kLongestWait);
    now = std::max(now, health.next_try());
    ASSERT_TRUE(health.may_try(now));
  }
  EXPECT_TRUE(health.open());
}

TEST(Health, OfManyThreadsOneTries) {
  Health health;
  open_at(kStart, &health);
  for (int round = 0; round < 50; ++round) {
    const Monotonic due = health.next_try();
    std::atomic<int> told_yes{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        if (health.may_try(due)) told_yes.fetch_add(1);
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(told_yes, 1);
    health.failed(Failure::kTimeout, due);
  }
}

}  // namespace
}  // namespace limitree::redis
