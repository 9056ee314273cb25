#include "io/look.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace limitree {
namespace {

using namespace std::chrono_literals;

// A caller with its own clock.  Each look takes a microsecond.
class Looking {
 public:
  explicit Looking(LowLatency mode = LowLatency::kAuto,
                   Duration longest = Look::kLongest)
      : look_(mode, longest) {}

  void pass(Duration time) { now_ += time; }

  // Waits for an answer that takes `answer` to come.  Returns how long it
  // looked.
  Duration wait(Duration answer) {
    if (!look_.begin(now_)) return {};
    const Monotonic start = now_;
    for (;;) {
      pass(1us);
      if (now_ - start >= answer) {
        look_.found(now_);
        return now_ - start;
      }
      if (!look_.found_nothing(now_)) return now_ - start;
    }
  }

  // The same, but after three looks the caller loses the processor for `gap`.
  // If `answered`, the answer comes in that time.  Returns whether it looked.
  bool lose_the_processor(Duration gap, bool answered) {
    if (!look_.begin(now_)) return false;
    for (int i = 0; i < 3; ++i) {
      pass(1us);
      EXPECT_TRUE(look_.found_nothing(now_));
    }
    pass(gap);
    if (answered) {
      look_.found(now_);
    } else {
      EXPECT_FALSE(look_.found_nothing(now_));
    }
    return true;
  }

  bool looks() { return look_.begin(now_); }

  // How long it takes until the caller looks again.
  Duration pause() {
    const Monotonic start = now_;
    while (!looks()) pass(1ms);
    return now_ - start;
  }

 private:
  Look look_;
  Monotonic now_{1h};
};

TEST(Look, NeverLooksIfToldSo) {
  Looking caller(LowLatency::kOff);
  EXPECT_FALSE(caller.looks());
}

TEST(Look, AlwaysLooksIfToldSo) {
  Looking caller(LowLatency::kOn);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(caller.wait(1s), Look::kLongest);
  }
  for (int i = 0; i < 100; ++i) EXPECT_EQ(caller.wait(40us), 40us);
}

TEST(Look, LastsAsLongAsItMay) {
  for (const LowLatency mode : {LowLatency::kAuto, LowLatency::kOn}) {
    Looking caller(mode, 20us);
    EXPECT_EQ(caller.wait(1s), 20us);
  }
}

TEST(Look, GoesOnWhileAnswersComeInTime) {
  Looking caller;
  for (int i = 0; i < 10'000; ++i) EXPECT_EQ(caller.wait(25us), 25us);
}

TEST(Look, ForgivesAnAnswerThatIsLateNowAndThen) {
  Looking caller;
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_EQ(caller.wait(i % 4 == 0 ? 80us : 25us),
              i % 4 == 0 ? Look::kLongest : 25us);
  }
}

TEST(Look, StopsWhereAnswersComeTooLate) {
  Looking caller;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(caller.wait(200us), Look::kLongest);
  EXPECT_EQ(caller.wait(200us), 0us);
  EXPECT_EQ(caller.pause(), Look::kFirstPause);
}

// With a distant server, looking costs next to nothing, whether calls are
// frequent or rare.
TEST(Look, LooksLessAndLessInVain) {
  for (const Duration between : {Duration(200us), Duration(50ms)}) {
    Looking caller;
    Duration looked{};
    Duration all{};
    while (all < 1min) {
      looked += caller.wait(200us);
      caller.pass(between);
      all += between;
    }
    EXPECT_LE(looked, 1500 * Look::kLongest) << between.count();
  }
}

TEST(Look, StopsWhenTheProcessorIsTakenAway) {
  for (const bool answered : {false, true}) {
    Looking caller;
    for (int i = 0; i < 10; ++i) caller.wait(20us);
    EXPECT_TRUE(caller.lose_the_processor(2ms, answered));
    EXPECT_FALSE(caller.looks());
    EXPECT_EQ(caller.pause(), Look::kFirstPause);
  }
}

TEST(Look, TakesAnInterruptForNoGap) {
  Looking caller;
  for (int i = 0; i < 100; ++i) caller.lose_the_processor(400us, true);
  EXPECT_TRUE(caller.looks());
}

// Next to processes that spin, the caller loses the processor after some 3 ms
// of looking.  In the end it tries only once a second.
TEST(Look, PausesLongerEachTimeUntilItGoesWell) {
  Looking caller;
  Duration longest = Look::kFirstPause;
  for (int i = 0; i < 10; ++i) {
    for (int call = 0; call < 150; ++call) caller.wait(20us);
    EXPECT_TRUE(caller.lose_the_processor(2ms, false));
    EXPECT_EQ(caller.pause(), longest);
    longest = std::min(2 * longest, Look::kLongestPause);
  }
  EXPECT_EQ(longest, Look::kLongestPause);
  // If looks succeed for more than ten times the last pause, the next pause is
  // the shortest again.
  for (int call = 0; call < 600'000; ++call) caller.wait(20us);
  EXPECT_TRUE(caller.lose_the_processor(2ms, false));
  EXPECT_EQ(caller.pause(), Look::kFirstPause);
}

}  // namespace
}  // namespace limitree
