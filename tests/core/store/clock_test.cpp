#include "store/clock.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

namespace limitree {
namespace {

#ifdef CLOCK_BOOTTIME
constexpr clockid_t kSystem = CLOCK_BOOTTIME;
#else
constexpr clockid_t kSystem = CLOCK_MONOTONIC;
#endif

Duration system_time() {
  timespec time{};
  clock_gettime(kSystem, &time);
  return std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec);
}

// Runs `body` for `time`.
template <typename Body>
void keep_on(Duration time, Body body) {
  const Duration end = system_time() + time;
  while (system_time() < end) body();
}

TEST(Clock, TellsTheTimeOfDay) {
  const auto wall = std::chrono::system_clock::now();
  const Instant now = Clock().now();
  EXPECT_LT(std::chrono::abs(now - wall), std::chrono::seconds(1));
}

// Long enough for several anchors and measured rates: windows of 0.4 ms,
// stretches of 10 ms.
TEST(CycleClock, TellsTheSystemsTime) {
  CycleClock& clock = CycleClock::of_process();
  keep_on(std::chrono::milliseconds(100), [&] {
    const Duration before = system_time();
    const Duration now = clock.now();
    const Duration after = system_time();
    ASSERT_GE(now, before - std::chrono::microseconds(5));
    ASSERT_LE(now, after + std::chrono::microseconds(5));
  });
}

TEST(CycleClock, TellsTheSystemsTimeAfterAPause) {
  CycleClock& clock = CycleClock::of_process();
  for (const auto pause :
       {std::chrono::milliseconds(2), std::chrono::milliseconds(1100)}) {
    clock.now();
    std::this_thread::sleep_for(pause);
    const Duration before = system_time();
    const Duration now = clock.now();
    EXPECT_GE(now, before - std::chrono::microseconds(5));
    EXPECT_LE(now, system_time() + std::chrono::microseconds(5));
  }
}

// Any of the threads may move the anchor.  Counter and system are read some
// nanoseconds apart, and a thread may use either.
TEST(CycleClock, DoesNotGoBackOnAThread) {
  CycleClock& clock = CycleClock::of_process();
  std::atomic<std::int64_t> worst = 0;
  const auto work = [&] {
    std::int64_t last = 0;
    keep_on(std::chrono::milliseconds(200), [&] {
      for (int i = 0; i < 100; ++i) {
        const std::int64_t now = clock.now().count();
        if (now < last) worst = last - now;
        last = now;
      }
    });
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  EXPECT_LT(worst, 1000);
}

TEST(CycleClock, GoesOnInTheChildOfAFork) {
  CycleClock& clock = CycleClock::of_process();
  const Duration before = clock.now();
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    const Duration now = clock.now();
    _exit(now + std::chrono::microseconds(1) >= before && now <= system_time()
              ? 0
              : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace limitree
