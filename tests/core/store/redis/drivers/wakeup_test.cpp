#include "store/remote/drivers/wakeup.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "core/store/redis/drive_cases.hpp"
#include "store/redis/common/remote.hpp"

namespace limitree::redis {
namespace {

using Word = Wakeup::Word;

TEST(Wakeup, ComesAtOnceIfItWasThereBefore) {
  Wakeup wakeup;
  wakeup.set(Word::kRead).wake();
  EXPECT_EQ(wakeup.wait(Word::kNone, now() + 10s), Word::kRead);
  wakeup.set(Word::kDone).wake();
  EXPECT_EQ(wakeup.wait(Word::kRead, now() + 10s), Word::kDone);
}

TEST(Wakeup, IsWaitedForNoLongerThanTheDeadline) {
  Wakeup wakeup;
  const Stopwatch watch;
  const Monotonic start = now();
  EXPECT_EQ(wakeup.wait(Word::kNone, start + 20ms), Word::kNone);
  EXPECT_GE(now() - start, 20ms);
  EXPECT_LE(watch.time(), 20ms + kGrace);
  EXPECT_EQ(wakeup.wait(Word::kNone, start), Word::kNone);
  // The word may still come afterwards.
  wakeup.set(Word::kDone).wake();
  EXPECT_EQ(wakeup.wait(Word::kNone, start), Word::kDone);
}

TEST(Wakeup, WakesASleeper) {
  for (int i = 0; i < 1000; ++i) {
    Wakeup there;
    Wakeup back;
    std::thread sleeper([&] {
      EXPECT_EQ(there.wait(Word::kNone, now() + 10s), Word::kDone);
      back.set(Word::kDone).wake();
    });
    there.set(Word::kDone).wake();
    EXPECT_EQ(back.wait(Word::kNone, now() + 10s), Word::kDone);
    sleeper.join();
  }
}

// The sleeper may be gone before it is woken.
TEST(Wakeup, IsGivenToThoseWhoLeaveAtOnce) {
  std::optional<Wakeup> wakeup;
  for (int i = 0; i < 1000; ++i) {
    wakeup.emplace();
    const Wakeup::Sleeper sleeper = wakeup->set(Word::kDone);
    EXPECT_EQ(wakeup->wait(Word::kNone, now() + 10s), Word::kDone);
    wakeup.reset();
    sleeper.wake();
  }
}

}  // namespace
}  // namespace limitree::redis
