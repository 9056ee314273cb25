// Processes on one file whose clocks differ.

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "core/store/manual_clock.hpp"
#include "core/store/shared/shared_file.hpp"
#include "core/store/store_cases.hpp"

namespace limitree {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A file, and two stores of which each has a clock of its own.
class SharedClocks : public testing::Test {
 protected:
  static std::unique_ptr<SharedStore> open(SharedFile* file, Clock clock) {
    file->settings.clock = clock;
    return file->open();
  }

  ManualClock ahead;
  ManualClock behind;
  SharedFile file{1000};
  std::unique_ptr<SharedStore> one = open(&file, ahead.clock());
  std::unique_ptr<SharedStore> other = open(&file, behind.clock());
};

// Asked in turn, they would move the bucket between their times, and each time
// give something back.
TEST_F(SharedClocks, ThatDifferAdmitNothingMore) {
  for (const AlgorithmTraits& traits : kAlgorithms) {
    for (const auto difference : {seconds(1), seconds(5), seconds(60)}) {
      const Limit limit = limit_of(traits.algorithm, 10, seconds(10));
      const std::string name = traits.name + std::to_string(difference.count());
      ahead.set(behind.now() + difference);
      int admitted = 0;
      for (int i = 0; i < 200; ++i) {
        admitted += allowed(one.get(), limit, name) ? 1 : 0;
        admitted += allowed(other.get(), limit, name) ? 1 : 0;
        admitted += allowed(other.get(), limit, name) ? 1 : 0;
      }
      EXPECT_EQ(admitted, 10) << name;
      behind.advance(hours(1));
    }
  }
}

// The one behind decides at the time of the other until its own clock is there.
TEST_F(SharedClocks, TheOneBehindWaitsForItsOwnClock) {
  const Limit limit = simple_limit(seconds(10), 1);
  ahead.advance(seconds(30));
  EXPECT_TRUE(allowed(one.get(), limit, "a"));
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(allowed(other.get(), limit, "a")) << i;
    behind.advance(seconds(10));
  }
  EXPECT_TRUE(allowed(other.get(), limit, "a"));
}

TEST_F(SharedClocks, TooFarBehindIsAnErrorThatNamesBothTimes) {
  const Limit limit = simple_limit(seconds(10), 1);
  ahead.advance(seconds(60) + milliseconds(1));
  EXPECT_EQ(failure(one.get(), limit, "a"), "");
  EXPECT_EQ(failure(other.get(), limit, "a"), "shm_clock");
  Plan plan(Operation::kAuthorize);
  plan.segments.emplace_back("a", Segment::Kind::kCaller);
  plan.add_level(&limit, 0u, 1u, 1);
  EXPECT_EQ(other->decide(&plan).error().messages[0],
            file.path() +
                ": the clock of this process shows 2025-06-15 15:06:40.000 "
                "UTC, and another process has used the file at 2025-06-15 "
                "15:07:40.001 UTC");
  const Limit log = limit_of(Algorithm::kSlidingLog, 1, seconds(10));
  EXPECT_EQ(failure(other.get(), log, "a"), "shm_clock");
  behind.advance(milliseconds(1));
  EXPECT_EQ(failure(other.get(), limit, "a"), "");
}

// A caller may set its own clock back, as tests do.
TEST_F(SharedClocks, OnesOwnIsObeyed) {
  const Limit limit = simple_limit(hours(1), 10);
  EXPECT_TRUE(allowed(one.get(), limit, "a"));
  ahead.advance(-hours(3));
  EXPECT_TRUE(allowed(one.get(), limit, "b"));
  Request peek(Operation::kPeek, {"a"});
  EXPECT_EQ(peek.level(limit, 1, 0).decide(one.get()).remaining, 6);
}

// Nobody is left whose clock was ahead.
TEST_F(SharedClocks, WhoOpensTheFileAloneSetsItsTime) {
  const Limit limit = simple_limit(seconds(10), 1);
  ahead.advance(hours(1));
  EXPECT_TRUE(allowed(one.get(), limit, "a"));
  one.reset();
  EXPECT_EQ(failure(other.get(), limit, "a"), "shm_clock");
  other.reset();
  other = open(&file, behind.clock());
  EXPECT_EQ(failure(other.get(), limit, "a"), "");
  EXPECT_FALSE(allowed(other.get(), limit, "a"));
  behind.advance(seconds(10));
  EXPECT_TRUE(allowed(other.get(), limit, "a"));
}

// In time namespaces two processes have the file's clock and differ.
TEST(SharedSystemClocks, ThatDifferAdmitNothingMore) {
  const SharedFile file;
  const auto one = file.open();
  std::int64_t& offset = one->memory().file().header().clock_offset;
  offset -= Duration(seconds(30)).count();
  const auto other = file.open();
  offset += Duration(seconds(30)).count();
  const Limit limit = limit_of(Algorithm::kFixedWindow, 10, seconds(10));
  int admitted = 0;
  for (int i = 0; i < 200; ++i) {
    admitted += allowed(one.get(), limit, "a") ? 1 : 0;
    admitted += allowed(other.get(), limit, "a") ? 1 : 0;
  }
  EXPECT_LE(admitted, 20) << "a window may end meanwhile";
}

// Who opens a file alone sets its clock, unless it is right: by what two
// readings differ it does not move, in either direction.
TEST(SharedSystemClocks, AreSetIfTheyAreWrong) {
  const SharedFile file;
  const auto error_after = [&](Duration error) {
    file.open()->memory().file().header().clock_offset =
        (Clock().offset() + error).count();
    const auto store = file.open();
    return Duration(store->memory().file().header().clock_offset) -
           Clock().offset();
  };
  for (const Duration wrong : {Duration(hours(5)), Duration(seconds(2)),
                               Duration(milliseconds(500))}) {
    for (const Duration error : {wrong, -wrong}) {
      const bool stays = wrong < seconds(1);
      const Duration found = error_after(error);
      EXPECT_LT(std::chrono::abs(found - (stays ? error : Duration(0))),
                milliseconds(300))
          << error.count();
    }
  }
}

}  // namespace
}  // namespace limitree
