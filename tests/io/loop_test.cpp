#include "io/loop.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <ctime>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "io/descriptor_limit.hpp"
#include "io/failure.hpp"
#include "io/trouble.hpp"

namespace limitree {
namespace {

struct Pair {
  Pair() {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    ours = Fd(fds[0]);
    theirs = Fd(fds[1]);
  }
  Fd ours;
  Fd theirs;
};

class Reading final : public Watcher {
 public:
  explicit Reading(std::function<void()> on_ready) : call_(on_ready) {}
  void on_ready(std::uint32_t /*events*/) override { call_(); }

 private:
  std::function<void()> call_;
};

TEST(Loop, SaysThatTooManyFilesAreOpen) {
  for (const int room : {0, 1, 2}) {  // it needs three
    std::exception_ptr thrown;
    try {
      const DescriptorLimit limit(room);
      const Loop loop;
    } catch (...) {
      thrown = std::current_exception();
    }
    ASSERT_NE(thrown, nullptr) << room;
    try {
      std::rethrow_exception(thrown);
    } catch (const Failure& failure) {
      EXPECT_STREQ(failure.what(), "event loop: too many open files");
    }
  }
}

TEST(Loop, CallsTheWatcherOfAReadyDescriptor) {
  Loop loop;
  Pair pair;
  Reading watcher([&] {
    loop.remove(pair.ours.get(), &watcher);
    loop.stop();
  });
  loop.add(pair.ours.get(), EPOLLIN, &watcher);
  ASSERT_EQ(write(pair.theirs.get(), "x", 1), 1);
  loop.run();
}

// A turn that has ended, and the next one.
TEST(Loop, TellsWhenATurnEnds) {
  Loop loop;
  Monotonic ends[2];
  for (Monotonic& end : ends) {
    loop.post([&] {
      end = loop.turn_end();
      EXPECT_GE(end, loop.now());
      EXPECT_EQ(loop.turn_end(), end);
      loop.stop();
    });
    loop.run();
  }
  EXPECT_GT(ends[1], ends[0]);
}

TEST(Loop, RemovedInTheSameTurnIsNotCalled) {
  Loop loop;
  Pair one;
  Pair two;
  int calls = 0;
  // Whichever comes first removes both.
  Reading* both[2];
  const auto remove_both = [&] {
    ++calls;
    loop.remove(one.ours.get(), both[0]);
    loop.remove(two.ours.get(), both[1]);
    loop.stop();
  };
  Reading first(remove_both);
  Reading second(remove_both);
  both[0] = &first;
  both[1] = &second;
  loop.add(one.ours.get(), EPOLLIN, &first);
  loop.add(two.ours.get(), EPOLLIN, &second);
  ASSERT_EQ(write(one.theirs.get(), "x", 1), 1);
  ASSERT_EQ(write(two.theirs.get(), "x", 1), 1);
  loop.run();
  EXPECT_EQ(calls, 1);
}

class AtEnd final : public AtTurnEnd {
 public:
  explicit AtEnd(std::function<void()> call) : call_(call) {}
  void on_turn_end() override { call_(); }

 private:
  std::function<void()> call_;
};

TEST(Loop, TurnEndComesOnceAndAfterEverything) {
  Loop loop;
  std::vector<std::string> order;
  AtEnd end([&] {
    order.push_back("end");
    loop.stop();
  });
  AtEnd forgotten([&] { order.push_back("forgotten"); });
  loop.post([&] {
    loop.at_turn_end(&end);
    loop.at_turn_end(&end);
    loop.at_turn_end(&forgotten);
    loop.forget(&forgotten);
    order.push_back("posted");
  });
  loop.run();
  EXPECT_EQ(order, (std::vector<std::string>{"posted", "end"}));
}

TEST(Loop, WhatThrowsEndsNeitherTheLoopNorWhatComesAfter) {
  Loop loop;
  Timer throws(&loop, [] { throw std::runtime_error("a timer"); });
  int calls = 0;
  loop.post([&] {
    throws.set(loop.now());
    throw std::out_of_range("posted");
  });
  loop.post([&] { ++calls; });
  Timer ends(&loop, [&] { loop.stop(); });
  loop.post([&] { ends.set(after(loop.now(), kMillisecond)); });
  loop.run();
  EXPECT_EQ(calls, 1);
}

TEST(Loop, WorkOfOtherThreadsRunsInOrder) {
  Loop loop;
  std::vector<int> order;
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) {
      loop.post([&order, i] { order.push_back(i); });
    }
    loop.stop();
  });
  loop.run();
  other.join();
  ASSERT_EQ(order.size(), 1000u);
  EXPECT_EQ(order.front(), 0);
  EXPECT_EQ(order.back(), 999);
}

TEST(Loop, TimersRunOnceTheirTimeHasCome) {
  Loop loop;
  const Monotonic start = loop.now();
  Timer timer(&loop, [&] { loop.stop(); });
  timer.set(start + 5 * kMillisecond);
  loop.run();
  EXPECT_GE(loop.now(), start + 5 * kMillisecond);
}

// It looks after each event, and sleeps until the next timer.
TEST(Loop, MissesNothingWhileItLooks) {
  for (const LowLatency mode :
       {LowLatency::kOff, LowLatency::kAuto, LowLatency::kOn}) {
    Loop loop(mode);
    Pair pair;
    char byte = 'x';
    int answered = 0;
    int timed = 0;
    Timer timer(&loop, [&] {
      ++timed;
      EXPECT_EQ(write(pair.theirs.get(), &byte, 1), 1);
    });
    Reading watcher([&] {
      EXPECT_EQ(read(pair.ours.get(), &byte, 1), 1);
      if (++answered == 100) return loop.stop();
      if (answered % 2 == 0) {
        return loop.post(
            [&] { EXPECT_EQ(write(pair.theirs.get(), &byte, 1), 1); });
      }
      timer.set(loop.now() + (answered % 4 == 1 ? 5 : 50) * kMicrosecond);
    });
    loop.add(pair.ours.get(), EPOLLIN, &watcher);
    EXPECT_EQ(write(pair.theirs.get(), &byte, 1), 1);
    loop.run();
    loop.remove(pair.ours.get(), &watcher);
    EXPECT_EQ(answered, 100);
    EXPECT_EQ(timed, 50);
  }
}

// Whatever lets an exception out, and of whatever kind, other work goes on.
TEST(Loop, GoesOnAfterExceptions) {
  Loop loop;
  static std::vector<std::string> told;
  listen_to_trouble([](std::string_view what, std::string_view why) {
    told.push_back(std::string(what).append(": ").append(why));
  });
  Pair pair;
  Reading bad_watcher([&] {
    loop.remove(pair.ours.get(), &bad_watcher);
    throw std::length_error("watcher");
  });
  loop.add(pair.ours.get(), EPOLLIN, &bad_watcher);
  ASSERT_EQ(write(pair.theirs.get(), "x", 1), 1);
  std::vector<std::string> order;
  Timer bad_timer(&loop, [] { throw std::length_error("timer"); });
  Timer timer(&loop, [&] { order.push_back("timer"); });
  bad_timer.set({});
  timer.set(Monotonic(Duration(1)));
  AtEnd bad_end([] { throw 7; });
  AtEnd end([&] { order.push_back("end"); });
  loop.at_turn_end(&bad_end);
  loop.at_turn_end(&end);
  loop.post([] { throw std::length_error("posted"); });
  loop.post([] { throw std::bad_alloc(); });
  loop.post([&] { order.push_back("posted"); });
  loop.post([&] { loop.stop(); });
  loop.run();
  listen_to_trouble(nullptr);
  std::sort(told.begin(), told.end());
  EXPECT_EQ(told, (std::vector<std::string>{
                      "some work is lost: an unknown error",
                      "some work is lost: posted", "some work is lost: timer",
                      "some work is lost: watcher"}));
  EXPECT_EQ(order, (std::vector<std::string>{"posted", "timer", "end"}));
}

TEST(Loop, ForgetsManyAtTheEndOfATurn) {
  Loop loop;
  std::vector<std::unique_ptr<AtEnd>> all;
  int ended = 0;
  for (int i = 0; i < 100'000; ++i) {
    all.push_back(std::make_unique<AtEnd>([&] { ++ended; }));
    loop.at_turn_end(all.back().get());
  }
  const std::clock_t begun = std::clock();
  for (const auto& one : all) loop.forget(one.get());
  EXPECT_LT((std::clock() - begun) / CLOCKS_PER_SEC, 2);
  loop.at_turn_end(all.front().get());
  loop.stop();
  loop.run();
  EXPECT_EQ(ended, 1);
}

// Not before all that are due: another client has a turn in between.
TEST(Loop, RunsFewTimersInOneTurn) {
  Loop loop;
  int ran = 0;
  std::vector<std::unique_ptr<Timer>> set;
  for (int i = 0; i < 10'000; ++i) {
    set.push_back(std::make_unique<Timer>(&loop, [&] {
      if (++ran == 1) loop.stop();  // at the begin of the next turn
    }));
    set.back()->set({});
  }
  loop.run();
  EXPECT_LE(ran, 1000);
}

}  // namespace
}  // namespace limitree
