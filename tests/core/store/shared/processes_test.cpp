// Several processes on one file, of which some are killed or stopped.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/store/shared/file_walk.hpp"
#include "core/store/shared/shared_file.hpp"
#include "core/store/store_cases.hpp"
#include "store/shared/mapped_cells.hpp"

namespace limitree {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

// A child process, killed at the latest when this is destroyed.
class Child {
 public:
  template <typename Body>  // returns its exit status
  explicit Child(Body body) : process_(fork()) {
    if (process_ == 0) _exit(body());
  }
  Child(Child&& other) noexcept : process_(std::exchange(other.process_, -1)) {}
  Child& operator=(Child&&) = delete;
  ~Child() {
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    wait();
  }

  pid_t number() const { return process_; }
  void send(int signal) const { kill(process_, signal); }
  // Returns its exit status, or 1000 and the signal that ended it.
  int wait() {
    int status = 0;
    waitpid(std::exchange(process_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  void wait_until_stopped() const { waitpid(process_, nullptr, WUNTRACED); }

 private:
  pid_t process_;
};

// Memory that children share with the test.
template <typename T>
class Common {
 public:
  Common() {
    void* const place = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    value_ = new (place) T();
  }
  ~Common() { munmap(value_, sizeof(T)); }
  Common(const Common&) = delete;
  Common& operator=(const Common&) = delete;
  T* operator->() { return value_; }

 private:
  T* value_;
};

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
    Child child([&] { return take_lock_and(file, SIGKILL); });
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
  Child child([&] { return take_lock_and(file, SIGKILL); });
  ASSERT_EQ(child.wait(), 1000 + SIGKILL);
  const auto successor = file.open();
  EXPECT_EQ(successor->file()->processes, 2);
  EXPECT_TRUE(allowed(store.get(), limit, "a"));
  EXPECT_TRUE(allowed(successor.get(), limit, "a"));
}

TEST(SharedProcesses, WaitsForAStoppedOwnerNoLongerThanItsTimeout) {
  SharedFile file(1000);
  const Limit limit = simple_limit(hours(1), 100);
  Child child([&] { return take_lock_and(file, SIGSTOP); });
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
  Child child([&] { return take_lock_and(file, SIGSTOP); });
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
  Child child([&] {
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
  std::vector<Child> children;
  for (int i = 0; i < 4; ++i) {
    children.emplace_back([&] {
      for (int k = 0; k < 200; ++k) {
        if (!allowed(store.get(), limit, "a")) return 1;
      }
      // Each child has a seat of its own, and so may its child.
      Child grandchild([&] { return store->file()->processes < 3 ? 1 : 0; });
      return grandchild.wait();
    });
  }
  for (int k = 0; k < 200; ++k) {
    EXPECT_TRUE(allowed(store.get(), limit, "a"));
  }
  for (Child& child : children) EXPECT_EQ(child.wait(), 0);
  EXPECT_FALSE(allowed(store.get(), limit, "a"));
  EXPECT_EQ(store->file()->processes, 1);
}

// A child of fork() is not taken for its parent.
TEST(SharedProcesses, AKilledChildDoesNotKeepTheLockOfItsParent) {
  const SharedFile file(1000);
  const auto other = file.open();
  Child parent([&] {
    const auto store = file.open();
    Child child([&] {
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

// Any other SIGBUS ends the process, or goes to the host's handler.
TEST(SharedProcesses, LeavesOtherBusErrorsAlone) {
  const SharedFile file(1000);
  Child ends([&] {
    const auto store = file.open();
    raise(SIGBUS);
    return 0;
  });
  EXPECT_EQ(ends.wait(), 1000 + SIGBUS);
  Child handles([&] {
    struct sigaction action {};
    action.sa_handler = [](int) { _exit(7); };
    sigaction(SIGBUS, &action, nullptr);
    const SharedFile own(1000);
    const auto store = own.open();
    raise(SIGBUS);
    return 0;
  });
  // The handler was there first only if no store had been opened before.
  EXPECT_EQ(handles.wait(), 7);
}

// ---- chaos -----------------------------------------------------------------

constexpr int kWorkers = 8;
constexpr std::int64_t kHotCapacity = 20'000;

struct Tally {
  std::array<std::atomic<std::int64_t>, kWorkers> admitted{};
  std::atomic<std::int64_t> slowest_ns{0};
  std::atomic<std::int64_t> failures{0};
  std::atomic<std::int64_t> decisions{0};
};

// One hot bucket, logs that come and go, and many callers, for ever.
int work(const SharedFile& file, int worker, Tally* tally) {
  const auto store = file.open();
  if (store == nullptr) return 1;
  const Limit hot = simple_limit(milliseconds(1), kHotCapacity);
  const Limit log = sliding_log(30);
  const Limit plain = simple_limit(milliseconds(10), 5);
  std::mt19937 random(static_cast<unsigned>(getpid()));
  for (;;) {
    const auto start = SteadyClock::now();
    const std::string name = std::to_string(random() % 1500);
    Plan plan(Operation::kAuthorize);
    plan.segments.emplace_back("hot", Segment::Kind::kExact);
    plan.segments.emplace_back(name, Segment::Kind::kCaller);
    switch (random() % 3) {
      case 0:
        plan.add_level(&hot, 0u, 1u, 1);
        break;
      case 1:
        plan.add_level(&log, 1u, 1u, 1);
        plan.add_level(&plain, 1u, 1u, 1);
        break;
      default:
        plan.add_level(&plain, 0u, 2u, 1);
    }
    const Status status = store->decide(&plan);
    const auto took = (SteadyClock::now() - start).count();
    std::int64_t slowest = tally->slowest_ns;
    while (took > slowest &&
           !tally->slowest_ns.compare_exchange_weak(slowest, took)) {
    }
    ++tally->decisions;
    if (!status.ok()) ++tally->failures;
    if (status.ok() && plan.levels[0].limit == &hot &&
        !plan.levels[0].verdict.limited) {
      ++tally->admitted[static_cast<std::size_t>(worker)];
    }
  }
}

int chaos_seconds() {
  const char* const text = std::getenv("LIMITREE_CHAOS_SECONDS");
  return text == nullptr ? 10 : std::atoi(text);
}

// Eight processes without a rest, one of them killed every 20 ms.
TEST(SharedChaos, KilledProcessesChargeInPartAtMost) {
  // Few shards, so that locks are held often, and room for all.
  SharedFile file(16'384);
  const auto store = file.open();
  Common<Tally> tally;
  std::vector<Child> workers;
  const auto start = SteadyClock::now();
  for (int i = 0; i < kWorkers; ++i) {
    workers.emplace_back([&, i] { return work(file, i, tally.operator->()); });
  }
  std::int64_t kills = 0;
  std::mt19937 random(1);
  const auto end = start + std::chrono::seconds(chaos_seconds());
  while (SteadyClock::now() < end) {
    std::this_thread::sleep_for(milliseconds(20));
    const auto which = random() % kWorkers;
    workers[which].send(SIGKILL);
    ASSERT_EQ(workers[which].wait(), 1000 + SIGKILL);
    ++kills;
    const auto worker = static_cast<int>(which);
    new (&workers[which])
        Child([&, worker] { return work(file, worker, tally.operator->()); });
  }
  for (Child& worker : workers) {
    worker.send(SIGKILL);
    EXPECT_EQ(worker.wait(), 1000 + SIGKILL);
    ++kills;
  }
  const std::int64_t ms =
      std::chrono::ceil<milliseconds>(SteadyClock::now() - start).count();
  std::int64_t admitted = 0;
  for (const auto& one : tally->admitted) admitted += one;
  EXPECT_LE(admitted, kHotCapacity + ms + 1);
  // Whatever is missing was charged by a process that did not live to count it,
  // or has not been asked for.
  const Limit hot = simple_limit(milliseconds(1), kHotCapacity);
  Request peek(Operation::kPeek, {"hot"});
  peek.level(hot, 1, 0).decide(store.get());
  const std::int64_t used = kHotCapacity - peek.verdict(0).remaining;
  EXPECT_GE(admitted + kills, used);
  EXPECT_EQ(tally->failures, 0);
  EXPECT_EQ(faults_in(store.get()), std::vector<std::string>());
  EXPECT_EQ(store->stats().evictions, 0);
  EXPECT_EQ(store->file()->processes, 1);
  RecordProperty("kills", static_cast<int>(kills));
  std::printf(
      "%lld kills, %lld decisions, slowest %.1f ms, admitted %lld of "
      "%lld\n",
      static_cast<long long>(kills),
      static_cast<long long>(tally->decisions.load()),
      static_cast<double>(tally->slowest_ns.load()) / 1e6,
      static_cast<long long>(admitted),
      static_cast<long long>(kHotCapacity + ms));
}

}  // namespace
}  // namespace limitree
