#include "net/permits.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

namespace limitree::server {
namespace {

TEST(Permits, AreTakenAndGivenBack) {
  Permits permits(2);
  Permit first = permits.take();
  EXPECT_TRUE(first);
  {
    const Permit second = permits.take();
    EXPECT_TRUE(second);
    EXPECT_FALSE(permits.take());
  }
  Permit moved = std::move(first);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move)
  const Permit again = permits.take();
  EXPECT_TRUE(again);
  EXPECT_FALSE(permits.take());
  moved = Permit();
  EXPECT_TRUE(permits.take());
}

TEST(Permits, AreNeverTakenTwice) {
  Permits permits(3);
  std::atomic<int> sitting = 0;
  std::atomic<int> most = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 10'000; ++j) {
        const Permit permit = permits.take();
        if (!permit) continue;
        const int now = ++sitting;
        for (int old = most;
             old < now && !most.compare_exchange_weak(old, now);) {
        }
        --sitting;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, 3);
  const Permit left[] = {permits.take(), permits.take(), permits.take()};
  for (const Permit& one : left) EXPECT_TRUE(one);
}

}  // namespace
}  // namespace limitree::server
