// Reservations when something goes wrong: processes that are killed with open
// holds, forks, threads and processes that all want the last slot.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "limitree.hpp"

namespace limitree::holds_test {
namespace {

constexpr char kYaml[] =
    "schema: {job: {limits: [{name: slots, concurrent: 3, hold: 600ms},"
    " {name: units, count: 1000000, period: 1h, hold: 600ms}]}}";
constexpr std::chrono::milliseconds kHold(600);
// No thread waits that long for a processor.
constexpr std::int64_t kMinute = 60'000'000'000;
constexpr limitree_str kJob = {"job", 3};
constexpr limitree_path kPath = {&kJob, 1, 1, LIMITREE_PART_CHARGE};
constexpr limitree_path kAsHeld = {&kJob, 1, LIMITREE_AS_HELD,
                                   LIMITREE_PART_CHARGE};

// Asks for nothing.
constexpr limitree_path kLook = {&kJob, 1, 0, LIMITREE_PART_CHARGE};

std::span<const limitree_path> path() { return {&kPath, 1}; }
std::span<const limitree_path> as_held() { return {&kAsHeld, 1}; }

class CapiHolds : public testing::Test {
 protected:
  CapiHolds() {
    std::string made = "/tmp/limitree-holds-XXXXXX";
    if (mkdtemp(made.data()) == nullptr) std::abort();
    folder_ = made;
  }
  ~CapiHolds() override { std::filesystem::remove_all(folder_); }

  Limiter open(bool shared = true) const {
    Config config;
    config.set_limits(kYaml, "limits.yaml");
    if (shared) config.set("store", "shm://" + folder_ + "/limits");
    // A thread that has a lock may not run for long on a busy machine.
    config.set("timeout", "20s");
    return Limiter(config);
  }

  // Runs `body` in a child, and returns how it ended: 0, a status, or 1000 and
  // the signal.
  static int in_child(const std::function<void()>& body) {
    const pid_t child = fork();
    if (child == 0) {
      body();
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
  }

  static bool is_soon(const std::function<bool()>& condition) {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }

  std::string folder_;
};

TEST_F(CapiHolds, AKilledProcessKeepsASlotOnlyUntilItsEnd) {
  Limiter limiter = open();
  const auto start = std::chrono::steady_clock::now();
  const int ended = in_child([this] {
    Limiter own = open();
    for (int i = 0; i < 3; ++i) own.reserve(path());
    raise(SIGKILL);
  });
  ASSERT_EQ(ended, 1000 + SIGKILL);
  if (!limiter.reserve(path()).limited) {
    EXPECT_GE(std::chrono::steady_clock::now() - start, kHold);
  }
  EXPECT_TRUE(is_soon([&] { return !limiter.reserve(path()).limited; }));
}

TEST_F(CapiHolds, AnotherProcessSettles) {
  Limiter limiter = open();
  const Reservation made = limiter.reserve(path(), {}, kMinute);
  EXPECT_EQ(made.held, 2);
  const int ended = in_child([&] {
    Limiter own = open();
    const Decision settled = own.settle(made.hold, as_held());
    _exit(settled.held == 2 ? 0 : 1);
  });
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(limiter.settle(made.hold, as_held()).held, 0);
}

// The child of a fork has the reservations of its parent, and makes ids of its
// own.
TEST_F(CapiHolds, SurviveAFork) {
  for (const bool shared : {false, true}) {
    Limiter limiter = open(shared);
    const Reservation made = limiter.reserve(path(), {}, kMinute);
    int ids[2];
    ASSERT_EQ(pipe(ids), 0);
    const int ended = in_child([&] {
      const Reservation own = limiter.reserve(path(), {}, kMinute);
      const ssize_t wrote = write(ids[1], &own.hold, sizeof own.hold);
      if (wrote != sizeof own.hold) _exit(1);
      _exit(limiter.settle(made.hold, as_held()).held == 2 ? 0 : 2);
    });
    EXPECT_EQ(ended, 0);
    limitree_hold of_child;
    ASSERT_EQ(read(ids[0], &of_child, sizeof of_child),
              ssize_t{sizeof of_child});
    const Reservation next = limiter.reserve(path(), {}, kMinute);
    EXPECT_NE(next.hold.id[0], of_child.id[0]);
    // In memory, the child had a copy.
    EXPECT_EQ(limiter.settle(made.hold, as_held()).held, shared ? 0 : 2);
    close(ids[0]);
    close(ids[1]);
  }
}

TEST_F(CapiHolds, ThreadsNeverHaveMoreThanThereAre) {
  for (const bool shared : {false, true}) {
    Limiter limiter = open(shared);
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
    std::atomic<int> turns{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        for (int turn = 0; turn < 2000; ++turn) {
          const Reservation made = limiter.reserve(path(), {}, kMinute);
          if (made.limited != 0) continue;
          const int now = ++inside;
          int seen = most;
          while (seen < now && !most.compare_exchange_weak(seen, now)) {
          }
          ++turns;
          --inside;
          limiter.settle(made.hold, as_held());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_LE(most, 3);
    EXPECT_GT(turns, 100);
  }
}

// Processes that take slots and are killed at any moment: in the end all slots
// are free.
TEST_F(CapiHolds, ProcessesThatAreKilledLeaveNothingBehind) {
  Limiter limiter = open();
  unsigned delay = 1;
  for (int round = 0; round < 40; ++round) {
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        Limiter own = open();
        for (;;) {
          const Reservation made = own.reserve(path());
          if (made.limited == 0) own.settle(made.hold, as_held());
        }
      }
      children.push_back(child);
    }
    delay = delay * 1103515245 + 12345;
    std::this_thread::sleep_for(std::chrono::microseconds(delay % 20'000));
    for (const pid_t child : children) kill(child, SIGKILL);
    for (const pid_t child : children) waitpid(child, nullptr, 0);
  }
  EXPECT_TRUE(is_soon([&] {
    std::array<limitree_level, 2> levels;
    limiter.decide(LIMITREE_LOOK, {&kLook, 1}, levels);
    return levels[0].remaining == 3;
  }));
}

}  // namespace
}  // namespace limitree::holds_test
