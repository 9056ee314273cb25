#include "net/timer.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace limitree::server {
namespace {

TEST(Timers, RunInOrderOfTheirInstants) {
  Timers timers;
  std::vector<int> order;
  std::vector<std::unique_ptr<Timer>> set;
  for (int i = 0; i < 100; ++i) {
    set.push_back(
        std::make_unique<Timer>(&timers, [&order, i] { order.push_back(i); }));
    set.back()->set((i * 37) % 100);
  }
  EXPECT_EQ(timers.next(), 0);
  timers.run(49);
  EXPECT_EQ(order.size(), 50u);
  EXPECT_EQ(timers.next(), 50);
  timers.run(1000);
  ASSERT_EQ(order.size(), 100u);
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(order[i] * 37 % 100, static_cast<int>(i));
  }
  EXPECT_EQ(timers.next(), kNever);
}

TEST(Timers, CancelledOneDoesNotRun) {
  Timers timers;
  std::vector<int> ran;
  std::vector<std::unique_ptr<Timer>> set;
  for (int i = 0; i < 20; ++i) {
    set.push_back(
        std::make_unique<Timer>(&timers, [&ran, i] { ran.push_back(i); }));
    set.back()->set((i * 7) % 20);
  }
  for (std::size_t i = 0; i < 20; i += 2) set[i]->cancel();
  set[1].reset();  // one that is destroyed, too
  EXPECT_FALSE(set[0]->is_set());
  timers.run(100);
  EXPECT_EQ(ran.size(), 9u);
  for (const int one : ran) EXPECT_EQ(one % 2, 1);
}

TEST(Timers, SetAgainReplacesTheInstant) {
  Timers timers;
  int count = 0;
  Timer timer(&timers, [&] { ++count; });
  timer.set(10);
  timer.set(20);
  timers.run(15);
  EXPECT_EQ(count, 0);
  timers.run(20);
  EXPECT_EQ(count, 1);
  timer.set(kNever);
  EXPECT_FALSE(timer.is_set());
}

TEST(Timers, OneThatIsDueMayBeCancelledByAnother) {
  Timers timers;
  int count = 0;
  auto second = std::make_unique<Timer>(&timers, [&] { ++count; });
  Timer first(&timers, [&] { second.reset(); });
  second->set(2);
  first.set(1);
  timers.run(5);
  EXPECT_EQ(count, 0);
}

TEST(Timers, SettingItselfAgainDoesNotRunForEver) {
  Timers timers;
  int count = 0;
  Timer* self = nullptr;
  Timer timer(&timers, [&] {
    ++count;
    self->set(0);
  });
  self = &timer;
  timer.set(0);
  timers.run(1);
  EXPECT_EQ(count, 1);
  timers.run(1);
  EXPECT_EQ(count, 2);
}

TEST(Timers, AfterSaturates) {
  EXPECT_EQ(after(5, 7), 12);
  EXPECT_EQ(after(5, kNever), kNever);
  EXPECT_EQ(after(5, kNever - 5), kNever);
  EXPECT_EQ(after(5, kNever - 6), kNever - 1);
}

}  // namespace
}  // namespace limitree::server
