// A decision that waits for a lock of another process keeps nobody else, and
// in an event loop not even the loop.

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/store/shared/child_process.hpp"
#include "core/store/temporary_folder.hpp"
#include "limiter/limiter.hpp"
#include "limiter/make_store.hpp"
#include "store/shared/shared_store.hpp"
#include "tree/schema.hpp"

namespace limitree {
namespace {

// Takes the answer of a request in a loop.
struct Taker final : Listener {
  explicit Taker(StoreLoop* loop) : Listener(loop) {}

  void decided(Status outcome, const Decision& said,
               const LevelReports& /*reports*/) noexcept override {
    ++calls;
    code = outcome.code();
    if (!outcome.ok()) {
      reason = outcome.error().reason;
      message = outcome.message();
    }
    decision = said;
  }

  int calls = 0;
  Code code = Code::kOk;
  std::string reason;
  std::string message;
  Decision decision;
};

class WaitingLimiter : public testing::Test {
 protected:
  WaitingLimiter() { open("60s", "raise"); }

  void open(const char* timeout, const char* on_store_error) {
    EXPECT_TRUE(set_option("store", "shm://" + path, &options).ok());
    EXPECT_TRUE(set_option("timeout", timeout, &options).ok());
    EXPECT_TRUE(set_option("on_store_error", on_store_error, &options).ok());
    loop.reset();
    limiter.emplace(tree(), options, std::move(make_store(options).value()));
    loop = limiter->new_loop();
  }

  static std::shared_ptr<const Tree> tree() {
    return std::make_shared<const Tree>(
        std::move(load_tree("schema: {a: {limits: 100/h}}", "test").value()));
  }

  Status decide() {
    const std::array<std::string_view, 1> segments = {"a"};
    const PathCost path_cost{Path(segments.data(), 1)};
    Decision decision;
    return limiter->decide(Operation::kAuthorize, {{&path_cost, 1}}, nullptr,
                           &decision);
  }

  // Whether the answer of `taker` comes later, or it has it already.
  bool start(Taker* taker) {
    const std::array<std::string_view, 1> segments = {"a"};
    const PathCost path_cost{Path(segments.data(), 1)};
    Answer answer;
    if (!limiter->decide_async(Operation::kAuthorize, {{&path_cost, 1}},
                               &answer, taker, &status)) {
      return true;
    }
    taker->decided(std::move(status), answer.decision, {});
    return false;
  }
  bool start_reset(Taker* taker) {
    const std::array<std::string_view, 1> segments = {"a"};
    return !limiter->reset_async(Path(segments.data(), 1), Forget::kPath, taker,
                                 &status);
  }

  // As a host does.
  void run_once() const {
    pollfd watched = {loop->fd(), POLLIN, 0};
    if (poll(&watched, 1, 60'000) == 1) loop->run();
  }
  void run_until(const Taker& taker) const {
    while (taker.calls == 0) run_once();
  }

  // A process that has stopped with all locks of the file.
  ChildProcess stopped_owner() const {
    ChildProcess child([this] {
      SharedStore::Settings settings;
      settings.url.path = path;
      const auto store = SharedStore::open(settings);
      auto& memory = static_cast<SharedStore&>(*store.value()).memory();
      for (std::uint32_t i = 0; i < memory.shard_count(); ++i) {
        shared::SharedMemory::Waiter waiter;
        if (!memory.lock(i, false, &waiter)) return 1;
      }
      raise(SIGSTOP);
      for (std::uint32_t i = 0; i < memory.shard_count(); ++i) {
        memory.unlock(i);
      }
      return 0;
    });
    child.wait_until_stopped();
    return child;
  }

  const TemporaryFolder folder{"shm"};
  const std::string path = folder.path() + "/limits";
  Options options;
  std::optional<Limiter> limiter;
  std::unique_ptr<StoreLoop> loop;
  Status status;  // of requests that are answered at once
};

TEST_F(WaitingLimiter, ReloadStatsAndForkDoNotWaitForIt) {
  ASSERT_TRUE(decide().ok());
  ChildProcess owner = stopped_owner();
  std::atomic<bool> decided{false};
  std::thread waiting([&] {
    EXPECT_TRUE(decide().ok());
    decided = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(limiter->reload(*tree()).ok());
  EXPECT_EQ(limiter->stats().reloads, 1);
  limiter->reload(std::make_shared<const Descriptors>());
  EXPECT_EQ(ChildProcess([] { return 7; }).wait(), 7);
  EXPECT_FALSE(decided);
  owner.send(SIGCONT);
  waiting.join();
  EXPECT_EQ(owner.wait(), 0);
  EXPECT_EQ(limiter->stats().totals.allowed(), 2);
}

TEST_F(WaitingLimiter, ALoopIsFreeUntilTheLockIsGivenBack) {
  Taker at_once(loop.get());
  EXPECT_FALSE(start(&at_once));
  ChildProcess owner = stopped_owner();
  std::vector<Taker> takers(100, Taker(loop.get()));
  for (Taker& taker : takers) EXPECT_TRUE(start(&taker));
  for (int i = 0; i < 10; ++i) run_once();
  for (const Taker& taker : takers) EXPECT_EQ(taker.calls, 0);
  owner.send(SIGCONT);
  for (const Taker& taker : takers) run_until(taker);
  EXPECT_EQ(owner.wait(), 0);
  int allowed = 0;
  for (const Taker& taker : takers) {
    EXPECT_EQ(taker.calls, 1);
    EXPECT_EQ(taker.code, Code::kOk);
    allowed += taker.decision.limited ? 0 : 1;
  }
  EXPECT_EQ(allowed, 99) << "of 100, and one before";
}

TEST_F(WaitingLimiter, ALoopTakesALockOverIfItsOwnerIsKilled) {
  ChildProcess owner = stopped_owner();
  Taker taker(loop.get());
  EXPECT_TRUE(start(&taker));
  run_once();
  EXPECT_EQ(taker.calls, 0);
  owner.send(SIGKILL);
  EXPECT_EQ(owner.wait(), 1000 + SIGKILL);
  run_until(taker);
  EXPECT_EQ(taker.code, Code::kOk);
}

TEST_F(WaitingLimiter, ThePolicyAnswersInALoopAtTheDeadline) {
  open("100ms", "allow");
  const ChildProcess owner = stopped_owner();
  for (int i = 0; i < 2; ++i) {
    Taker taker(loop.get());
    start(&taker);  // at once, if the machine stands still for so long
    run_until(taker);
    EXPECT_EQ(taker.decision.source, Source::kAllow);
  }
  EXPECT_EQ(limiter->stats().store.errors[0].count, 2);
}

TEST_F(WaitingLimiter, ALoopHasATimeLimitOfItsOwn) {
  const ChildProcess owner = stopped_owner();
  loop->set_time_limit(std::chrono::milliseconds(10));
  Taker taker(loop.get());
  EXPECT_TRUE(start(&taker));
  run_until(taker);
  EXPECT_EQ(taker.code, Code::kStoreUnavailable);
  EXPECT_EQ(taker.reason, "shm_busy");
  EXPECT_EQ(taker.message, path + ": process " +
                               std::to_string(owner.number()) +
                               " holds a lock in it, and does not run");
}

TEST_F(WaitingLimiter, AResetWaitsInALoopToo) {
  ASSERT_TRUE(decide().ok());
  const ChildProcess owner = stopped_owner();
  Taker reset(loop.get());
  EXPECT_TRUE(start_reset(&reset));
  run_once();
  owner.send(SIGCONT);
  run_until(reset);
  EXPECT_EQ(reset.code, Code::kOk);
  EXPECT_EQ(limiter->stats().store.buckets, 0);
}

TEST_F(WaitingLimiter, TheEndOfALoopCancelsWhatWaits) {
  const ChildProcess owner = stopped_owner();
  Taker taker(loop.get());
  EXPECT_TRUE(start(&taker));
  EXPECT_EQ(ChildProcess([&] {
              loop.reset();
              return taker.calls;
            }).wait(),
            0)
      << "the parent answers it";
  loop.reset();
  EXPECT_EQ(taker.calls, 1);
  EXPECT_EQ(taker.code, Code::kCancelled);
}

}  // namespace
}  // namespace limitree
