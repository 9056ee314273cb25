#include "net/loop.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace limitree::server {
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
  Instant ends[2];
  for (Instant& end : ends) {
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
  const Instant start = loop.now();
  Timer timer(&loop, [&] { loop.stop(); });
  timer.set(start + 5 * kMillisecond);
  loop.run();
  EXPECT_GE(loop.now(), start + 5 * kMillisecond);
}

}  // namespace
}  // namespace limitree::server
