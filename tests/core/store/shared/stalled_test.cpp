// Processes that hold locks and do not run: what they cost the others.

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/store/shared/child_process.hpp"
#include "core/store/shared/shared_file.hpp"
#include "core/store/store_cases.hpp"

namespace limitree {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using SteadyClock = std::chrono::steady_clock;

class SharedStalled : public testing::Test {
 protected:
  // A process that stops with the lock of a shard, `times` times.
  ChildProcess stopper(std::uint32_t shard, int times = 1) {
    ChildProcess child([&] {
      const auto own = file.open();
      for (int i = 0; i < times; ++i) {
        shared::SharedMemory::Waiter waiter;
        if (!own->memory().lock(shard, false, &waiter)) return 1;
        raise(SIGSTOP);
        own->memory().unlock(shard);
        raise(SIGSTOP);  // without it
      }
      return 0;
    });
    child.wait_until_stopped();
    return child;
  }

  std::unique_ptr<SharedStore> open(milliseconds timeout) {
    file.settings.timeout = timeout;
    return file.open();
  }

  // The name of a caller in that shard, found before anybody holds a lock.
  std::string caller_in(std::uint32_t shard) {
    const auto store = file.open();
    for (int i = 0;; ++i) {
      const std::string name = std::to_string(i);
      store->memory().latest(shard) = {};
      EXPECT_EQ(failure(store.get(), limit, name), "");
      if (store->memory().latest(shard).at != Instant()) return name;
    }
  }

  SharedFile file{4 * 4096};  // four shards
  const Limit limit = simple_limit(hours(1), 100'000);
};

template <typename Body>
SteadyClock::duration time_of(Body body) {
  const auto start = SteadyClock::now();
  body();
  return SteadyClock::now() - start;
}

// As a paused container does.
TEST_F(SharedStalled, ManyStoppedOwnersAreRememberedAtOnce) {
  const std::vector<std::string> names = {caller_in(0), caller_in(1),
                                          caller_in(2), caller_in(3)};
  std::vector<ChildProcess> children;
  for (std::uint32_t shard = 0; shard < 3; ++shard) {
    children.push_back(stopper(shard));
  }
  const auto store = open(milliseconds(200));
  const auto ask_all = [&] {
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(failure(store.get(), limit, names[i]), "shm_busy");
    }
    EXPECT_EQ(failure(store.get(), limit, names[3]), "");
  };
  EXPECT_GE(time_of(ask_all), milliseconds(600));
  // 300 waits of 200 ms, if each owner drove out the one before.
  EXPECT_LT(time_of([&] {
              for (int i = 0; i < 100; ++i) ask_all();
            }),
            seconds(20));
}

// A request that waits for one lock is in nobody's way at another.
TEST_F(SharedStalled, WhoWaitsGivesBackTheLocksThatItHas) {
  const std::string first = caller_in(0);
  const std::string second = caller_in(3);
  const auto elsewhere = open(seconds(20));
  const auto left = [&](const std::string& name) {
    Request peek(Operation::kPeek, {name});
    return peek.level(limit, 1, 0).decide(elsewhere.get()).remaining;
  };
  const std::int64_t left_first = left(first);
  const std::int64_t left_second = left(second);
  const ChildProcess child = stopper(3);
  const auto store = open(seconds(20));
  std::atomic<bool> done = false;
  Status status;
  std::thread waits([&] {
    Plan plan(Operation::kAuthorize);
    plan.segments.emplace_back(first, Segment::Kind::kCaller);
    plan.segments.emplace_back(second, Segment::Kind::kCaller);
    plan.add_level(&limit, 0u, 1u, 1);
    plan.add_level(&limit, 1u, 1u, 1);
    status = store->decide(&plan);
    done = true;
  });
  const auto took = time_of([&] {
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(failure(elsewhere.get(), limit, first), "");
      std::this_thread::sleep_for(milliseconds(2));
    }
  });
  EXPECT_LT(took, seconds(10));
  EXPECT_FALSE(done);
  child.send(SIGCONT);
  waits.join();
  EXPECT_TRUE(status.ok()) << "it gets both locks when they are free";
  // All was charged, once.
  EXPECT_EQ(left(first), left_first - 100 - 1);
  EXPECT_EQ(left(second), left_second - 1);
}

// Then the owner may be a busy one.
TEST_F(SharedStalled, AStoppedOwnerIsRememberedForASecondOnly) {
  const std::string name = caller_in(0);
  const ChildProcess child = stopper(0);
  const auto store = open(milliseconds(100));
  const auto ask = [&] {
    EXPECT_EQ(failure(store.get(), limit, name), "shm_busy");
  };
  const auto waits = [&] { return time_of(ask) >= milliseconds(100); };
  EXPECT_TRUE(waits());
  // One of them runs without a pause, within the second.
  int left = 100;
  while (waits() && left > 0) --left;
  EXPECT_GT(left, 0);
  std::this_thread::sleep_for(milliseconds(1200));
  EXPECT_TRUE(waits());
}

TEST_F(SharedStalled, AnOwnerThatHasRunIsWaitedForAgain) {
  const std::string name = caller_in(0);
  ChildProcess child = stopper(0, 2);
  const auto store = open(milliseconds(400));
  const auto ask = [&] {
    EXPECT_EQ(failure(store.get(), limit, name), "shm_busy");
  };
  EXPECT_GE(time_of(ask), milliseconds(400));
  child.send(SIGCONT);
  child.wait_until_stopped();
  EXPECT_EQ(failure(store.get(), limit, name), "");
  child.send(SIGCONT);
  child.wait_until_stopped();
  EXPECT_GE(time_of(ask), milliseconds(400)) << "within the second";
}

}  // namespace
}  // namespace limitree
