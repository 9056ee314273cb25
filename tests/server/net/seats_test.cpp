#include "net/seats.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

namespace limitree::server {
namespace {

TEST(Seats, AreTakenAndGivenBack) {
  Seats seats(2);
  Seat first = seats.take();
  EXPECT_TRUE(first);
  {
    const Seat second = seats.take();
    EXPECT_TRUE(second);
    EXPECT_FALSE(seats.take());
  }
  Seat moved = std::move(first);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move)
  const Seat again = seats.take();
  EXPECT_TRUE(again);
  EXPECT_FALSE(seats.take());
  moved = Seat();
  EXPECT_TRUE(seats.take());
}

TEST(Seats, AreNeverTakenTwice) {
  Seats seats(3);
  std::atomic<int> sitting = 0;
  std::atomic<int> most = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 10'000; ++j) {
        const Seat seat = seats.take();
        if (!seat) continue;
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
  const Seat left[] = {seats.take(), seats.take(), seats.take()};
  for (const Seat& one : left) EXPECT_TRUE(one);
}

}  // namespace
}  // namespace limitree::server
