// Several processes on one file, of which some are killed or stopped.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <sstream>
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
  shared::SharedMemory::Waiter waiter;
  return store->memory().lock(0, false, &waiter);
}

// In a child that has the file open: takes the lock, and then ends or stops.
int take_lock_and(const SharedFile& file, int signal) {
  const auto store = file.open();
  if (store == nullptr || !take_lock(store.get())) return 1;
  raise(signal);
  store->memory().unlock(0);
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
    EXPECT_LT(SteadyClock::now() - start, file.settings.timeout / 5);
  }
  EXPECT_EQ(faults_in(store.get()), std::vector<std::string>());
}

// Its process slot has been taken by another process, whose number may even be
// the same.
TEST(SharedProcesses, KnowsAKilledOwnerWhoseSeatIsTakenAgain) {
  const SharedFile file(1000);
  const auto store = file.open();
  const Limit limit = simple_limit(hours(1), 100);
  ChildProcess child([&] { return take_lock_and(file, SIGKILL); });
  ASSERT_EQ(child.wait(), 1000 + SIGKILL);
  // The child had a process slot for each of its two stores.
  const auto one = file.open();
  const auto other = file.open();
  EXPECT_EQ(store->file()->processes, 3);
  EXPECT_TRUE(allowed(store.get(), limit, "a"));
  EXPECT_TRUE(allowed(one.get(), limit, "a"));
  EXPECT_TRUE(allowed(other.get(), limit, "a"));
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
  // The next ones know for a second that this owner does not run.
  int failed = 0;
  for (; SteadyClock::now() - first < milliseconds(900); ++failed) {
    EXPECT_EQ(failure(store.get(), limit, "a"), "shm_busy");
  }
  EXPECT_GT(failed, 900 / 50);
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
    shared::SharedMemory& memory = own->memory();
    shared::MappedPlace place = memory.place(0);
    shared::Journal& journal = memory.words(0).journal;
    place.cells.lines().each([&](Cell* cell) {
      shared::MappedCells& cells = place.cells.memory();
      LogBlock* const block = cells.block(cell->log);
      LogEdit edit(block);
      edit.change_last(block->entry(0).at(), 5);
      journal.slot = static_cast<std::uint64_t>(
          reinterpret_cast<std::byte*>(cell) - memory.file().at(0));
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
      // Each child has a process slot of its own, and so may its child.
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

// What one process has lost another one may still use.
TEST(SharedProcesses, WhoHasLostTheFileLeavesItAlone) {
  if (kThreadSanitized) GTEST_SKIP() << kNoSignals;
  const SharedFile file(1000);
  const auto loses = file.open();
  const auto keeps = file.open();
  const Limit limit = simple_limit(hours(1), 1);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(allowed(keeps.get(), limit, std::to_string(i)));
  }
  std::ostringstream content;
  content << std::ifstream(file.path()).rdbuf();
  ASSERT_EQ(truncate(file.path().c_str(), 0), 0);
  EXPECT_EQ(failure(loses.get(), limit, "a"), "shm_lost");
  std::ofstream(file.path()) << content.str();
  for (int i = 100; i < 1000; ++i) {
    EXPECT_EQ(failure(loses.get(), limit, std::to_string(i)), "shm_lost");
  }
  for (int i = 0; i < 100; ++i) {
    ASSERT_FALSE(allowed(keeps.get(), limit, std::to_string(i))) << i;
  }
}

// As a daemon does when it starts.  It is taken for ended, but touches no other
// file.
TEST(SharedProcesses, SurvivesThatItsDescriptorsAreClosed) {
  const SharedFile file(100'000);
  const std::string other = file.folder() + "/other";
  ChildProcess child([&] {
    const auto store = file.open();
    for (int i = 3; i < 1000; ++i) close(i);
    for (int i = 0; i < 20; ++i) {
      const int one = open(other.c_str(), O_RDWR | O_CREAT, 0600);
      if (write(one, "data", 4) != 4) return 1;
    }
    const Limit limit = simple_limit(hours(1), 1);
    for (int i = 0; i < 10'000; ++i) {
      failure(store.get(), limit, std::to_string(i));
    }
    return 0;
  });
  EXPECT_EQ(child.wait(), 0);
  struct stat facts {};
  ASSERT_EQ(stat(other.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_size, 4);
  EXPECT_LE(facts.st_blocks, 8);
  std::string text;
  EXPECT_TRUE(std::ifstream(other) >> text);
  EXPECT_EQ(text, "data");
}

// A process that knows nothing, because its descriptor is gone, takes nobody
// for killed.
TEST(SharedProcesses, WithoutItsDescriptorItTakesNoLock) {
  SharedFile file(1000);
  ChildProcess owner([&] { return take_lock_and(file, SIGSTOP); });
  owner.wait_until_stopped();
  ChildProcess child([&] {
    file.settings.timeout = milliseconds(50);
    const auto store = file.open();
    for (int i = 3; i < 1000; ++i) close(i);
    const bool closed =
        failure(store.get(), simple_limit(hours(1), 1), "a") == "shm_busy";
    for (int i = 0; i < 20; ++i) open("/dev/null", O_RDWR);
    const bool reused =
        failure(store.get(), simple_limit(hours(1), 1), "a") == "shm_busy";
    return closed && reused ? 0 : 1;
  });
  EXPECT_EQ(child.wait(), 0);
}

// A child that another thread forks meanwhile keeps nothing locked.
TEST(SharedProcesses, OpensWhileAnotherThreadForks) {
  const SharedFile file(1000);
  std::atomic<bool> done = false;
  std::thread opens([&] {
    for (int i = 0; i < 300; ++i) EXPECT_EQ(file.error(), "");
    done = true;
  });
  std::vector<ChildProcess> children;
  while (!done && children.size() < 200) {
    children.emplace_back([] { return pause(); });
  }
  opens.join();
  EXPECT_EQ(file.error(), "");
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
