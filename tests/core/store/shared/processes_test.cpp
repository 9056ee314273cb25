// Several processes on one file, of which some are killed or stopped.

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/sanitizers.hpp"
#include "core/store/shared/child_process.hpp"
#include "core/store/shared/file_walk.hpp"
#include "core/store/shared/shared_file.hpp"
#include "core/store/store_cases.hpp"
#include "store/shared/mapped_cells.hpp"

namespace limitree {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

// Why a test of SIGBUS is skipped.
constexpr const char* kNoSignals =
    "the sanitizer holds locks of its own while it touches memory";

Limit sliding_log(std::int64_t count) {
  return limit_of(Algorithm::kSlidingLog, count, hours(1));
}

// Takes the only lock, without a request.
bool take_lock(SharedStore* store) {
  shared::SharedHome::Waiter waiter;
  return store->home().lock(0, &waiter);
}

// In a child that has the file open: takes the lock, and then ends or stops.
int take_lock_and(const SharedFile& file, int signal) {
  const auto store = file.open();
  if (store == nullptr || !take_lock(store.get())) return 1;
  raise(signal);
  store->home().unlock(0);
  return 0;
}

TEST(SharedProcesses, TakesTheLockOfAKilledProcess) {
  const SharedFile file(1000);  // one shard
  const auto store = file.open();
  const Limit limit = simple_limit(hours(1), 100);
  for (int i = 0; i < 10; ++i) {
    ChildProcess child([&] { return take_lock_and(file, SIGKILL); });
    ASSERT_EQ(child.wait(), 1000 + SIGKILL);
    const auto start = SteadyClock::now();
    EXPECT_TRUE(allowed(store.get(), limit, "a"));
    EXPECT_LT(SteadyClock::now() - start, milliseconds(50));
  }
  EXPECT_EQ(faults_in(store.get()), std::vector<std::string>());
}

// Its seat has been taken by another process, whose number may even be the
// same.
TEST(SharedProcesses, KnowsAKilledOwnerWhoseSeatIsTakenAgain) {
  const SharedFile file(1000);
  const auto store = file.open();
  const Limit limit = simple_limit(hours(1), 100);
  ChildProcess child([&] { return take_lock_and(file, SIGKILL); });
  ASSERT_EQ(child.wait(), 1000 + SIGKILL);
  const auto successor = file.open();
  EXPECT_EQ(successor->file()->processes, 2);
  EXPECT_TRUE(allowed(store.get(), limit, "a"));
  EXPECT_TRUE(allowed(successor.get(), limit, "a"));
}

TEST(SharedProcesses, WaitsForAStoppedOwnerNoLongerThanItsTimeout) {
  SharedFile file(1000);
  const Limit limit = simple_limit(hours(1), 100);
  ChildProcess child([&] { return take_lock_and(file, SIGSTOP); });
  child.wait_until_stopped();
  file.settings.timeout = milliseconds(50);
  const auto store = file.open();
  const auto start = SteadyClock::now();
  EXPECT_EQ(failure(store.get(), limit, "a"), "shm_busy");
  const auto first = SteadyClock::now();
  EXPECT_GE(first - start, milliseconds(50));
  // The next ones know that this owner does not run.
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(failure(store.get(), limit, "a"), "shm_busy");
  }
  EXPECT_LT(SteadyClock::now() - first, milliseconds(500));
  EXPECT_EQ(store->ping().error().messages[0],
            file.path() + ": process " + std::to_string(child.number()) +
                " holds a lock in it, and does not run");
  child.send(SIGCONT);
  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(failure(store.get(), limit, "a"), "");
  EXPECT_TRUE(store->ping().ok());
}

TEST(SharedProcesses, StoppedOwnersThatAreKilledLoseTheirLock) {
  SharedFile file(1000);
  ChildProcess child([&] { return take_lock_and(file, SIGSTOP); });
  child.wait_until_stopped();
  file.settings.timeout = milliseconds(20);
  const auto store = file.open();
  const Limit limit = simple_limit(hours(1), 100);
  EXPECT_EQ(failure(store.get(), limit, "a"), "shm_busy");
  child.send(SIGKILL);
  EXPECT_EQ(child.wait(), 1000 + SIGKILL);
  EXPECT_EQ(failure(store.get(), limit, "a"), "");
}

// The journal of a process that was killed after it had decided to write, and
// before it wrote anything; then half of it.
TEST(SharedProcesses, FinishesWhatTheJournalHas) {
  const SharedFile file(1000);
  const auto store = file.open();
  const Limit limit = sliding_log(100);
  ASSERT_TRUE(allowed(store.get(), limit, "a"));
  ASSERT_TRUE(allowed(store.get(), limit, "a"));
  const auto left = [&] {
    Request peek(Operation::kPeek, {"a"});
    return peek.level(limit, 1, 0).decide(store.get()).remaining;
  };
  ASSERT_EQ(left(), 98);
  ChildProcess child([&] {
    const auto own = file.open();
    if (!take_lock(own.get())) return 1;
    shared::SharedHome& home = own->home();
    shared::MappedPlace place = home.place(0);
    shared::Journal& journal = home.words(0).journal;
    place.cells.lines().each([&](Cell* cell) {
      shared::MappedCells& cells = place.cells.home();
      LogBlock* const block = cells.block(cell->log);
      LogEdit edit(block);
      edit.change_last(block->entry(0).at(), 5);
      journal.slot = static_cast<std::uint64_t>(
          reinterpret_cast<std::byte*>(cell) - home.file().at(0));
      journal.cell = *cell;
      journal.link = cell->log;
      journal.head = edit.head();
      journal.place = edit.changed();
      journal.entry = edit.entry();
      journal.steps = 2;
      // Half of the head.
      LogBlock::Head half = block->head();
      half.size = 0;
      half.first = half.room;
      block->set_head(half);
    });
    raise(SIGKILL);
    return 0;
  });
  ASSERT_EQ(child.wait(), 1000 + SIGKILL);
  EXPECT_EQ(left(), 93);
  EXPECT_EQ(faults_in(store.get()), std::vector<std::string>());
}

TEST(SharedProcesses, ShareAcrossForks) {
  const SharedFile file(1000);
  const auto store = file.open();
  const Limit limit = simple_limit(hours(1), 1000);
  std::vector<ChildProcess> children;
  for (int i = 0; i < 4; ++i) {
    children.emplace_back([&] {
      for (int k = 0; k < 200; ++k) {
        if (!allowed(store.get(), limit, "a")) return 1;
      }
      // Each child has a seat of its own, and so may its child.
      ChildProcess grandchild(
          [&] { return store->file()->processes < 3 ? 1 : 0; });
      return grandchild.wait();
    });
  }
  for (int k = 0; k < 200; ++k) {
    EXPECT_TRUE(allowed(store.get(), limit, "a"));
  }
  for (ChildProcess& child : children) EXPECT_EQ(child.wait(), 0);
  EXPECT_FALSE(allowed(store.get(), limit, "a"));
  EXPECT_EQ(store->file()->processes, 1);
}

// A child of fork() is not taken for its parent.
TEST(SharedProcesses, AKilledChildDoesNotKeepTheLockOfItsParent) {
  const SharedFile file(1000);
  const auto other = file.open();
  ChildProcess parent([&] {
    const auto store = file.open();
    ChildProcess child([&] {
      if (!take_lock(store.get())) return 1;
      raise(SIGKILL);
      return 0;
    });
    if (child.wait() != 1000 + SIGKILL) return 1;
    return allowed(store.get(), simple_limit(hours(1), 1), "b") ? 0 : 1;
  });
  EXPECT_EQ(parent.wait(), 0);
  EXPECT_TRUE(allowed(other.get(), simple_limit(hours(1), 1), "a"));
}

TEST(SharedProcesses, SurvivesAFileThatIsCutOff) {
  if (kThreadSanitized) GTEST_SKIP() << kNoSignals;
  const SharedFile file(100'000);
  const auto store = file.open();
  const auto good = SharedFile();
  const auto other = good.open();
  const Limit limit = simple_limit(hours(1), 100);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(failure(store.get(), limit, std::to_string(i)), "");
  }
  ASSERT_EQ(truncate(file.path().c_str(), 4096), 0);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(failure(store.get(), limit, std::to_string(i)), "shm_lost");
  }
  EXPECT_EQ(store->ping().error().messages[0],
            file.path() +
                ": was cut off, or its disk has failed, while it was in use; "
                "restart to open it again");
  EXPECT_EQ(failure(other.get(), limit, "a"), "") << "another file";
}

// All of them touch what is gone, at the same time.
TEST(SharedProcesses, SurvivesAFileThatIsCutOffUnderThreads) {
  if (kThreadSanitized) GTEST_SKIP() << kNoSignals;
  const SharedFile file(100'000);
  const auto store = file.open();
  const Limit limit = simple_limit(hours(1), 100);
  std::atomic<bool> cut_off = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 50'000; ++k) {
        const std::string name = std::to_string(i) + "/" + std::to_string(k);
        const bool was_cut_off = cut_off;
        const std::string reason = failure(store.get(), limit, name);
        if (!was_cut_off) continue;
        EXPECT_EQ(reason, "shm_lost");
        break;
      }
    });
  }
  std::this_thread::sleep_for(milliseconds(20));
  ASSERT_EQ(truncate(file.path().c_str(), 0), 0);
  EXPECT_EQ(failure(store.get(), limit, "a"), "shm_lost");
  cut_off = true;
  for (std::thread& thread : threads) thread.join();
}

// Any other SIGBUS ends the process, by its signal or by a sanitizer, or goes
// to the handler that the host has set.
TEST(SharedProcesses, LeavesOtherBusErrorsAlone) {
  const SharedFile file(1000);
  ChildProcess ends([&] {
    const auto store = file.open();
    raise(SIGBUS);
    return 0;
  });
  EXPECT_NE(ends.wait(), 0);
  ChildProcess handles([&] {
    const auto store = file.open();
    struct sigaction action {};
    action.sa_handler = [](int) { _exit(7); };
    sigaction(SIGBUS, &action, nullptr);
    raise(SIGBUS);
    return 0;
  });
  EXPECT_EQ(handles.wait(), 7);
}

}  // namespace
}  // namespace limitree
