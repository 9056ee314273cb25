// A process that is killed between any two instructions of a request.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/sanitizers.hpp"
#include "core/store/manual_clock.hpp"
#include "core/store/shared/child_process.hpp"
#include "core/store/shared/file_walk.hpp"
#include "core/store/shared/shared_file.hpp"
#include "core/store/store_cases.hpp"
#include "store/buckets/bucket_shards.hpp"

namespace limitree {
namespace {

// A child process that stops, and then runs one instruction at a time.
class SteppedProcess {
 public:
  // `body` calls its argument where the steps are to begin.
  template <typename Body>
  explicit SteppedProcess(Body body)
      : child_([body] {
          body([] {
            if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
            raise(SIGSTOP);
          });
          return 0;
        }) {
    waitpid(child_.number(), &status_, 0);
  }

  bool is_traced() const { return WIFSTOPPED(status_); }

  // Runs so many instructions.  Returns false if the body ends before.
  bool step(int count) {
    for (int i = 0; i < count && WIFSTOPPED(status_); ++i) {
      ptrace(PTRACE_SINGLESTEP, child_.number(), nullptr, nullptr);
      waitpid(child_.number(), &status_, 0);
    }
    return WIFSTOPPED(status_);
  }
  void kill() {
    child_.send(SIGKILL);
    child_.wait();
  }

 private:
  ChildProcess child_;
  int status_ = 0;
};

// A request that makes, changes, moves or evicts buckets and logs in full
// tables; `ready` is called before the store is asked.
template <typename Ready>
void ask_something(Store* store, unsigned seed, Ready ready) {
  using std::chrono::milliseconds;
  const Limit plain = simple_limit(milliseconds(500), 5);
  const Limit log = limit_of(Algorithm::kSlidingLog, 30, milliseconds(2000));
  const Limit window = limit_of(Algorithm::kFixedWindow, 5, milliseconds(700));
  Request request(Operation::kAuthorize, {std::to_string(seed % 211), "x"});
  if (seed % 3 != 0) request.level(log, 1);
  if (seed % 2 != 0) request.level(plain, 1);
  request.level(window, 2);
  ready();
  request.decide(store);
}

TEST(SharedSteps, AKillAtAnyInstructionLeavesTheFileSound) {
  if (kThreadSanitized) GTEST_SKIP() << "its runtime does not like steps";
  SharedFile file(100);
  file.settings.max_bytes = 100 * kTableBytes + 8 * 1024;
  const auto store = file.open();
  const auto& lock = store->memory().words(0).lock;
  std::mt19937 random(1);
  int kills = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(4);
  while (kills < 20 || std::chrono::steady_clock::now() < end) {
    auto seed = static_cast<unsigned>(random());
    for (int i = 0; i < 20; ++i) ask_something(store.get(), ++seed, [] {});
    SteppedProcess process(
        [&](auto ready) { ask_something(store.get(), seed, ready); });
    if (!process.is_traced()) GTEST_SKIP() << "no right to trace a child";
    while (lock == 0 && process.step(1)) {
    }
    // Small numbers as often as large ones.
    process.step(static_cast<int>(random() % (4u << random() % 12)));
    kills += lock != 0 ? 1 : 0;
    process.kill();
    ASSERT_EQ(faults_in(store.get()), std::vector<std::string>()) << seed;
  }
  std::printf("%d kills in the lock\n", kills);
  EXPECT_EQ(store->file()->processes, 1);
}

// A file with one cell, of which a request is to change all that there is.
class OneCell {
 public:
  explicit OneCell(Algorithm algorithm)
      : limit_(limit_of(algorithm, 100, std::chrono::seconds(1))) {
    clock_.set(Instant(std::chrono::hours(400'000)));
    EXPECT_TRUE(allowed(store_.get(), limit_, "a"));
    clock_.advance(std::chrono::milliseconds(
        algorithm == Algorithm::kSlidingLog ? 500 : 1500));
  }

  SharedStore* store() { return store_.get(); }
  void change() { allowed(store_.get(), limit_, "a"); }

  // What may be half written.
  std::string bytes() {
    const shared::MappedFile& file = memory().file();
    const auto* const log =
        reinterpret_cast<const char*>(file.at(file.layout().slab_of(0)));
    return {std::string(reinterpret_cast<const char*>(cell()), sizeof(Cell)) +
            std::string(log, 256)};
  }

  // What it says, but for its tag, which is another one in each file.
  std::string text() {
    const Cell& cell = *this->cell();
    std::string text =
        std::to_string(cell.over_at) + " " + std::to_string(cell.part) + " " +
        std::to_string(cell.start) + " " + std::to_string(cell.log);
    if (cell.has_log == 0) return text;
    const LogBlock* const log =
        memory().place(0).cells.memory().block(cell.log);
    text += " " + std::to_string(log->head().sum);
    for (std::uint32_t i = 0; i < log->head().size; ++i) {
      const LogEntry& entry = log->entry(log->head().first + i);
      text += " " + std::to_string(entry.at().time_since_epoch().count()) +
              "/" + std::to_string(entry.units());
    }
    return text;
  }

 private:
  shared::SharedMemory& memory() { return store_->memory(); }
  Cell* cell() {
    Cell* found = nullptr;
    memory().place(0).cells.lines().each([&](Cell* one) { found = one; });
    return found;
  }

  ManualClock clock_;
  const Limit limit_;
  SharedFile file_{100, clock_.clock()};
  std::unique_ptr<SharedStore> store_ = file_.open();
};

// Killed after each store to memory that changes the cell or its log, in turn.
TEST(SharedSteps, AKillLeavesACellAsItWasOrAsItWillBe) {
  if (kThreadSanitized) GTEST_SKIP() << "its runtime does not like steps";
  for (const Algorithm algorithm :
       {Algorithm::kFixedWindow, Algorithm::kSlidingLog}) {
    OneCell whole(algorithm);
    const std::string before = whole.text();
    whole.change();
    const std::string after = whole.text();
    ASSERT_NE(before, after);
    int change = 0;
    for (bool ended = false; !ended; ++change) {
      OneCell cell(algorithm);
      ASSERT_EQ(cell.text(), before);
      SteppedProcess process([&](auto ready) {
        ready();
        cell.change();
      });
      if (!process.is_traced()) GTEST_SKIP() << "no right to trace a child";
      std::string seen = cell.bytes();
      for (int changes = 0; changes <= change && !ended;) {
        ended = !process.step(1);
        if (cell.bytes() == seen) continue;
        seen = cell.bytes();
        ++changes;
      }
      process.kill();
      EXPECT_EQ(faults_in(cell.store()), std::vector<std::string>());
      const std::string left = cell.text();
      EXPECT_TRUE(left == before || left == after)
          << traits_of(algorithm).name << ", change " << change << ": " << left
          << "\n  before: " << before << "\n  after:  " << after;
    }
    // An instrumented memcpy() stores all of it at once.
    EXPECT_GT(change, kAddressSanitized ? 1 : 2)
        << "more than one store, and the end";
  }
}

}  // namespace
}  // namespace limitree
