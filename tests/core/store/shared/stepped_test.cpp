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
#include "store/buckets/hold_block.hpp"

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

// A request that changes all that there is of a cell.
struct Change {
  const char* name;
  Algorithm algorithm;
  Operation operation = Operation::kAuthorize;
  bool holds = false;
};

constexpr Change kChanges[] = {
    {"window", Algorithm::kFixedWindow},
    {"log", Algorithm::kSlidingLog},
    {"reserve", Algorithm::kGcra, Operation::kReserve, true},
    {"settle", Algorithm::kFixedWindow, Operation::kSettle, true},
    {"extend", Algorithm::kConcurrent, Operation::kExtend, true},
};

Limit limit_of(const Change& change) {
  Limit limit = limit_of(change.algorithm, 100, std::chrono::seconds(1));
  if (!change.holds) return limit;
  Rules rules;
  rules.hold = std::chrono::seconds(9);
  rules.frees = change.algorithm == Algorithm::kConcurrent;
  limit.rules = std::make_shared<const Rules>(rules);
  return limit;
}

// A request that makes, changes, moves or evicts buckets, logs and holds in
// full tables; `ready` is called before the store is asked.
template <typename Ready>
void ask_something(Store* store, unsigned seed, Ready ready) {
  using std::chrono::milliseconds;
  const Limit plain = simple_limit(milliseconds(500), 5);
  const Limit log = limit_of(Algorithm::kSlidingLog, 30, milliseconds(2000));
  const Limit window = limit_of(Algorithm::kFixedWindow, 5, milliseconds(700));
  const Limit held = limit_of(kChanges[2]);
  Request request(seed % 5 == 0 ? Operation::kReserve : Operation::kAuthorize,
                  {std::to_string(seed % 211), "x"});
  if (seed % 3 != 0) request.level(log, 1);
  if (seed % 2 != 0) request.level(plain, 1);
  if (seed % 4 != 0) request.level(held, 2);
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

// A file with one cell.
class OneCell {
 public:
  explicit OneCell(const Change& change)
      : change_(change), limit_(limit_of(change)) {
    clock_.set(Instant(std::chrono::hours(400'000)));
    if (!change.holds) {
      ask(Operation::kAuthorize, 1);
    } else {
      for (const std::uint64_t id : {1u, 2u, 3u}) {
        ask(Operation::kReserve, 1, id);
        clock_.advance(std::chrono::seconds(1));
      }
    }
    clock_.advance(std::chrono::milliseconds(
        change.algorithm == Algorithm::kSlidingLog ? 500 : 1500));
  }

  SharedStore* store() { return store_.get(); }
  void change() {
    const bool settles = is_about_hold(change_.operation);
    ask(change_.operation, settles ? 0 : 1, settles ? 2 : 4);
  }

  // What may be half written.
  std::string bytes() {
    const shared::MappedFile& file = memory().file();
    const auto* const log =
        reinterpret_cast<const char*>(file.at(file.layout().slab_of(0)));
    return {std::string(reinterpret_cast<const char*>(cell()), sizeof(Cell)) +
            std::string(log, 1024)};
  }

  // What it says, but for its tag, which is another one in each file.
  std::string text() {
    const Cell& cell = *this->cell();
    std::string text =
        std::to_string(cell.over_at) + " " + std::to_string(cell.part) + " " +
        std::to_string(cell.start) + " " + std::to_string(cell.log);
    if (cell.has_log == 0) return text;
    LogBlock* const log = memory().place(0).cells.memory().block(cell.log);
    if (cell.has_holds()) return text + text_of(HoldBlock(log));
    text += " " + std::to_string(log->head().sum);
    for (std::uint32_t i = 0; i < log->head().size; ++i) {
      const LogEntry& entry = log->entry(log->head().first + i);
      text += " " + std::to_string(entry.at().time_since_epoch().count()) +
              "/" + std::to_string(entry.units());
    }
    return text;
  }

 private:
  void ask(Operation operation, std::int64_t cost, std::uint64_t id = 0) {
    Plan plan(operation);
    plan.reservation = {{7, id}, std::chrono::seconds(9)};
    plan.segments.emplace_back("a", Segment::Kind::kCaller);
    plan.add_level(&limit_, 0u, 1u, cost);
    EXPECT_TRUE(store_->decide(&plan).ok());
    EXPECT_TRUE(plan.levels[0].verdict.charged);
  }

  std::string text_of(const HoldBlock& block) const {
    const HoldView view = block.view(limit_.rate);
    std::string text = " used " + std::to_string(block.used()) + " held " +
                       std::to_string(view.units) + " in " +
                       std::to_string(view.count);
    for (std::uint32_t i = view.first; i < view.end; ++i) {
      const Hold& hold = view.holds[i];
      if (hold.units == 0) continue;
      text += " " + std::to_string(hold.id.low) + "/" +
              std::to_string(hold.end.time_since_epoch().count()) + "/" +
              std::to_string(hold.units);
    }
    return text;
  }

  shared::SharedMemory& memory() { return store_->memory(); }
  Cell* cell() {
    Cell* found = nullptr;
    memory().place(0).cells.lines().each([&](Cell* one) { found = one; });
    return found;
  }

  const Change change_;
  ManualClock clock_;
  const Limit limit_;
  SharedFile file_{100, clock_.clock()};
  std::unique_ptr<SharedStore> store_ = file_.open();
};

// Killed after each store to memory that changes the cell or its log, in turn.
TEST(SharedSteps, AKillLeavesACellAsItWasOrAsItWillBe) {
  if (kThreadSanitized) GTEST_SKIP() << "its runtime does not like steps";
  for (const Change& one : kChanges) {
    if (one.holds && kAddressSanitized) continue;  // a minute
    OneCell whole(one);
    const std::string before = whole.text();
    whole.change();
    const std::string after = whole.text();
    ASSERT_NE(before, after);
    EXPECT_EQ(faults_in(whole.store()), std::vector<std::string>());
    int change = 0;
    for (bool ended = false; !ended; ++change) {
      OneCell cell(one);
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
          << one.name << ", change " << change << ": " << left
          << "\n  before: " << before << "\n  after:  " << after;
    }
    // An instrumented memcpy() stores all of it at once.
    EXPECT_GT(change, kAddressSanitized ? 1 : 2)
        << "more than one store, and the end";
  }
}

}  // namespace
}  // namespace limitree
