#include "base/sliding_tail.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace limitree {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

constexpr Duration kMinute = seconds(60);
constexpr std::int64_t kCount = 3;

// How many units fit at `now`, which are charged.
std::int64_t admitted(bool round_up, Instant now, SlidingTail::State* state) {
  SlidingTail bucket(*state, kMinute, round_up, now);
  const std::int64_t units = kCount - bucket.used();
  bucket.add(units);
  *state = bucket.state();
  return units;
}

// All at the end of one window, and again in the next one, once what is left of
// them rounds to nothing.
TEST(SlidingTail, LetsTwiceTheCountThroughWithinAPeriod) {
  const Instant window(std::chrono::hours(1));
  const Instant late = window + kMinute - microseconds(1);
  const Instant soon = window + kMinute + seconds(40) + microseconds(1);
  ASSERT_LT(soon - late, kMinute);
  for (const bool round_up : {false, true}) {
    SlidingTail::State state;
    EXPECT_EQ(admitted(round_up, late, &state), kCount);
    EXPECT_EQ(admitted(round_up, soon, &state), round_up ? kCount - 1 : kCount);
  }
}

}  // namespace
}  // namespace limitree
