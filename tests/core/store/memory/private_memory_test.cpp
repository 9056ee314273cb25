// The time of a request that comes after another one, and has read the clock
// before it.

#include "store/memory/private_memory.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "core/store/manual_clock.hpp"

namespace limitree {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

Instant settled(Instant latest, Instant read, const Clock& clock) {
  PrivateMemory::Time time{latest};
  PrivateMemory::Waiter waiter;
  EXPECT_TRUE(PrivateMemory::settle(read, clock, &time, &waiter));
  return time.at;
}

TEST(PrivateMemory, ARequestIsNotDecidedBeforeTheLastOne) {
  const Clock clock;
  const Instant now = clock.now();
  for (const auto ahead :
       {milliseconds(0), milliseconds(1), milliseconds(999)}) {
    EXPECT_EQ(settled(now + ahead, now, clock), now + ahead);
  }
  // It has waited for its lock, and reads the clock again.
  const Instant latest = now - milliseconds(1);
  EXPECT_GE(settled(latest, now - seconds(5), clock), now);
}

// By more, two readings do not differ: the clock was really set back.
TEST(PrivateMemory, AClockThatWasSetBackIsObeyed) {
  const Clock clock;
  for (const Duration ahead : {Duration(seconds(3)), Duration(minutes(1)),
                               Duration(minutes(30)), Duration(minutes(90))}) {
    const Instant now = clock.now();
    const Instant time = settled(now + ahead, now, clock);
    EXPECT_GE(time, now);
    EXPECT_LT(time, now + ahead);
  }
}

TEST(PrivateMemory, AClockOfTheCallerIsObeyed) {
  ManualClock clock;
  const Instant now = clock.now();
  EXPECT_EQ(settled(now + Duration(1), now, clock.clock()), now);
}

}  // namespace
}  // namespace limitree
