// A process that is killed between any two instructions of a request.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "core/sanitizers.hpp"
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
  const auto& lock = store->home().words(0).lock;
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

}  // namespace
}  // namespace limitree
