#include "store/redis/drive/timers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

namespace limitree::redis {
namespace {

using Owner = int;

Monotonic at(int ms) { return Monotonic(std::chrono::milliseconds(ms)); }

TEST(Timers, AreNoneAtFirst) {
  Timers<Owner> timers;
  EXPECT_EQ(timers.first(), nullptr);
  EXPECT_EQ(timers.next(), Monotonic::max());
}

TEST(Timers, OfOneInstantKeepTheirOrder) {
  Owner owners[] = {0, 1, 2};
  Timer<Owner> a(&owners[0]);
  Timer<Owner> b(&owners[1]);
  Timer<Owner> c(&owners[2]);
  Timers<Owner> timers;
  timers.set(&a, at(5));
  timers.set(&b, at(5));
  timers.set(&c, at(4));
  EXPECT_EQ(timers.first(), &c);
  timers.clear(&c);
  EXPECT_EQ(timers.first(), &a);
  timers.clear(&a);
  timers.clear(&a);  // no longer set: no effect
  EXPECT_EQ(timers.first(), &b);
  EXPECT_EQ(timers.next(), at(5));
}

TEST(Timers, ComeInOrderWhateverIsSetAndCleared) {
  std::mt19937 random(1);
  Owner owner = 0;
  std::deque<Timer<Owner>> all;
  for (int i = 0; i < 200; ++i) all.emplace_back(&owner);
  Timers<Owner> timers;
  for (int round = 0; round < 50; ++round) {
    for (Timer<Owner>& timer : all) {
      if (timer.set && random() % 3 == 0) timers.clear(&timer);
      if (!timer.set) timers.set(&timer, at(static_cast<int>(random() % 100)));
    }
    Monotonic last = Monotonic::min();
    std::size_t count = 0;
    for (Timer<Owner>* timer = timers.first(); timer != nullptr;
         timer = timer->next) {
      EXPECT_LE(last, timer->at);
      last = timer->at;
      ++count;
    }
    EXPECT_EQ(count, all.size());
  }
  for (Timer<Owner>& timer : all) timers.clear(&timer);
  EXPECT_EQ(timers.first(), nullptr);
}

}  // namespace
}  // namespace limitree::redis
