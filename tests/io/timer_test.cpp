#include "io/timer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

namespace limitree {
namespace {

Monotonic at(std::int64_t ns) { return Monotonic(Duration(ns)); }

// Until no timer is due.
void run(Timers* timers, std::int64_t now) {
  timers->take_due(at(now));
  while (timers->run_due()) {
  }
}

TEST(Timers, RunInOrderOfTheirInstants) {
  Timers timers;
  std::vector<int> order;
  std::vector<std::unique_ptr<Timer>> set;
  for (int i = 0; i < 100; ++i) {
    set.push_back(
        std::make_unique<Timer>(&timers, [&order, i] { order.push_back(i); }));
    set.back()->set(at((i * 37) % 100));
  }
  EXPECT_EQ(timers.next(), at(0));
  run(&timers, 49);
  EXPECT_EQ(order.size(), 50u);
  EXPECT_EQ(timers.next(), at(50));
  run(&timers, 1000);
  ASSERT_EQ(order.size(), 100u);
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(order[i] * 37 % 100, static_cast<int>(i));
  }
  EXPECT_EQ(timers.next(), Monotonic::max());
}

TEST(Timers, OfOneInstantKeepTheirOrder) {
  Timers timers;
  std::vector<int> order;
  std::vector<std::unique_ptr<Timer>> all;
  for (int i = 0; i < 20; ++i) {
    all.push_back(
        std::make_unique<Timer>(&timers, [&order, i] { order.push_back(i); }));
  }
  for (const auto& timer : all) timer->set(at(5));
  for (int i = 0; i < 20; i += 2) all[static_cast<std::size_t>(i)]->set(at(5));
  run(&timers, 5);
  EXPECT_EQ(order, (std::vector<int>{1, 3, 5, 7, 9, 11, 13, 15, 17, 19,  //
                                     0, 2, 4, 6, 8, 10, 12, 14, 16, 18}));
}

TEST(Timers, ComeInOrderWhateverIsSetAndCancelled) {
  std::mt19937 random(1);
  Timers timers;
  std::vector<std::unique_ptr<Timer>> all;
  std::vector<Monotonic> ran;
  for (std::size_t i = 0; i < 200; ++i) {
    all.push_back(std::make_unique<Timer>(
        &timers, [&, i] { ran.push_back(all[i]->at()); }));
  }
  for (int round = 0; round < 50; ++round) {
    for (const auto& timer : all) {
      if (random() % 3 == 0) timer->cancel();
      if (!timer->is_set()) timer->set(at(static_cast<int>(random() % 100)));
    }
    // In half of the rounds all of them come.
    if (round % 2 == 0) continue;
    ran.clear();
    run(&timers, 100);
    EXPECT_TRUE(std::is_sorted(ran.begin(), ran.end()));
    EXPECT_EQ(ran.size(), all.size());
  }
}

// Callers choose their deadlines: whatever their order, a timer costs little.
TEST(Timers, AreFastInAnyOrder) {
  constexpr int kCount = 200'000;
  Timers timers;
  std::vector<std::unique_ptr<Timer>> all;
  for (int i = 0; i < kCount; ++i) {
    all.push_back(std::make_unique<Timer>(&timers, [] {}));
  }
  const std::clock_t begun = std::clock();
  for (int i = 0; i < kCount; ++i) {
    all[static_cast<std::size_t>(i)]->set(at(i % 2 != 0 ? kCount - i : i));
  }
  for (std::size_t i = 0; i < kCount; i += 3) all[i]->cancel();
  while (timers.next() != Monotonic::max()) run(&timers, kCount);
  // A list took 16 s, and this 0.01 s, with an optimizing compiler.
  EXPECT_LT(std::clock() - begun, 5 * CLOCKS_PER_SEC);
}

TEST(Timers, CancelledOneDoesNotRun) {
  Timers timers;
  std::vector<int> ran;
  std::vector<std::unique_ptr<Timer>> set;
  for (int i = 0; i < 20; ++i) {
    set.push_back(
        std::make_unique<Timer>(&timers, [&ran, i] { ran.push_back(i); }));
    set.back()->set(at((i * 7) % 20));
  }
  for (std::size_t i = 0; i < 20; i += 2) set[i]->cancel();
  set[1].reset();  // one that is destroyed, too
  EXPECT_FALSE(set[0]->is_set());
  run(&timers, 100);
  EXPECT_EQ(ran.size(), 9u);
  for (const int one : ran) EXPECT_EQ(one % 2, 1);
}

TEST(Timers, SetAgainReplacesTheInstant) {
  Timers timers;
  int count = 0;
  Timer timer(&timers, [&] { ++count; });
  timer.set(at(10));
  timer.set(at(20));
  run(&timers, 15);
  EXPECT_EQ(count, 0);
  run(&timers, 20);
  EXPECT_EQ(count, 1);
  timer.set(Monotonic::max());
  EXPECT_FALSE(timer.is_set());
  EXPECT_EQ(timer.at(), Monotonic::max());
}

TEST(Timers, OneThatIsDueMayBeCancelledByAnother) {
  Timers timers;
  int count = 0;
  auto second = std::make_unique<Timer>(&timers, [&] { ++count; });
  Timer first(&timers, [&] { second.reset(); });
  second->set(at(2));
  first.set(at(1));
  run(&timers, 5);
  EXPECT_EQ(count, 0);
}

TEST(Timers, SettingItselfAgainDoesNotRunForEver) {
  Timers timers;
  int count = 0;
  Timer* self = nullptr;
  Timer timer(&timers, [&] {
    ++count;
    self->set(at(0));
  });
  self = &timer;
  timer.set(at(0));
  run(&timers, 1);
  EXPECT_EQ(count, 1);
  run(&timers, 1);
  EXPECT_EQ(count, 2);
}

TEST(Timers, OneThatIsDueMayBeSetAgainByAnother) {
  Timers timers;
  std::vector<int> ran;
  Timer second(&timers, [&] { ran.push_back(2); });
  Timer first(&timers, [&] {
    ran.push_back(1);
    second.set(at(20));
    EXPECT_TRUE(second.is_set());
  });
  second.set(at(2));
  first.set(at(1));
  run(&timers, 5);
  EXPECT_EQ(ran, std::vector<int>{1});
  EXPECT_EQ(timers.next(), at(20));
  run(&timers, 20);
  EXPECT_EQ(ran, (std::vector<int>{1, 2}));
}

TEST(Timers, OthersRunAfterOneThatThrows) {
  Timers timers;
  int count = 0;
  Timer bad(&timers, [] { throw std::length_error("bad"); });
  Timer good(&timers, [&] { ++count; });
  bad.set(at(1));
  good.set(at(2));
  timers.take_due(at(5));
  EXPECT_THROW(timers.run_due(), std::length_error);
  while (timers.run_due()) {
  }
  EXPECT_EQ(count, 1);
  EXPECT_EQ(timers.next(), Monotonic::max());
}

// So a loop that gives up after an exception knows that it has to come back.
TEST(Timers, ThatWereTakenAndNotCalledAreStillDue) {
  Timers timers;
  int count = 0;
  Timer bad(&timers, [] { throw std::length_error("bad"); });
  Timer good(&timers, [&] { ++count; });
  Timer later(&timers, [] {});
  bad.set(at(1));
  good.set(at(2));
  later.set(at(10));
  timers.take_due(at(5));
  EXPECT_THROW(timers.run_due(), std::length_error);
  EXPECT_LE(timers.next(), at(5));
  run(&timers, 5);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(timers.next(), at(10));
}

// A client can set very many timers to one instant.
TEST(Timers, FewAreTakenAtATime) {
  Timers timers;
  std::size_t ran = 0;
  std::vector<std::unique_ptr<Timer>> set;
  for (int i = 0; i < 10'000; ++i) {
    set.push_back(std::make_unique<Timer>(&timers, [&ran] { ++ran; }));
    set.back()->set(at(1));
  }
  std::size_t turns = 0;
  for (; timers.next() <= at(1); ++turns) {
    const std::size_t before = ran;
    run(&timers, 1);
    ASSERT_LE(ran - before, 500u);
    ASSERT_GT(ran, before);
  }
  EXPECT_EQ(ran, 10'000u);
  EXPECT_GE(turns, 20u);
}

// With time in proportion to all timers this would take minutes.
TEST(Timers, ThatAreDueTogetherTakeLittleTime) {
  Timers timers;
  std::size_t ran = 0;
  std::vector<std::unique_ptr<Timer>> set;
  for (int i = 0; i < 300'000; ++i) {
    set.push_back(std::make_unique<Timer>(&timers, [&, i] {
      ++ran;
      set[static_cast<std::size_t>(i)]->cancel();  // it is not set any more
    }));
    set.back()->set(at(1));
  }
  const std::clock_t begun = std::clock();
  while (timers.next() <= at(1)) run(&timers, 1);
  EXPECT_EQ(ran, 300'000u);
  EXPECT_LT((std::clock() - begun) / CLOCKS_PER_SEC, 10);
}

TEST(Timers, AfterSaturates) {
  constexpr Monotonic kLast = Monotonic::max();
  EXPECT_EQ(after(at(5), Duration(7)), at(12));
  EXPECT_EQ(after(at(5), kNever), kLast);
  EXPECT_EQ(after(at(5), kNever - Duration(5)), kLast);
  EXPECT_EQ(after(at(5), kNever - Duration(6)), kLast - Duration(1));
}

}  // namespace
}  // namespace limitree
