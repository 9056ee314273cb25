// A limiter over a store that answers later.

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <future>
#include <thread>

#include "core/store/manual_clock.hpp"
#include "limiter/limiter.hpp"
#include "store/memory/memory_store.hpp"
#include "tree/schema.hpp"

namespace limitree::remote_test {
namespace {

using Strings = std::vector<std::string_view>;

constexpr std::string_view kYaml = R"(
schema:
  user:
    children:
      "*":
        limits: 2/minute
        children:
          trade: {limits: 1/hour}
)";

std::shared_ptr<const Tree> tree_of(std::string_view yaml) {
  Result<Tree> tree = load_tree(yaml, "test.yaml");
  EXPECT_TRUE(tree.ok());
  return std::make_shared<const Tree>(std::move(tree.value()));
}

// Memory that takes a request at once and answers it in the run of a loop.
class SlowStore final : public Store {
 public:
  class Loop final : public StoreLoop {
   public:
    explicit Loop(SlowStore* store) : store_(*store) {}
    ~Loop() override {
      while (!queue.empty()) take()->complete(Status(Code::kCancelled, "gone"));
    }
    int fd() override { return 7; }
    void run() override {
      while (!queue.empty()) {
        Pending* const pending = take();
        pending->complete(store_.run(pending));
      }
    }
    void set_wakeups(bool /*on*/) override {}
    void set_time_limit(Duration /*limit*/) override {}

    Pending* take() {
      Pending* const pending = queue.front();
      queue.pop_front();
      return pending;
    }

    std::deque<Pending*> queue;

   private:
    SlowStore& store_;
  };

  bool is_remote() const override { return true; }
  Status decide(Plan* plan) override {
    if (while_deciding) while_deciding();
    return failure.ok() ? memory.decide(plan) : Status(failure.error());
  }
  bool start(Pending* pending, Status* status) override {
    if (inline_answers) {
      *status = run(pending);
      return true;
    }
    static_cast<Loop*>(pending->loop())->queue.push_back(pending);
    return false;
  }
  Status reset(const Plan& plan) override {
    return failure.ok() ? memory.reset(plan) : Status(failure.error());
  }
  StoreStats stats() override { return memory.stats(); }
  std::unique_ptr<StoreLoop> new_loop() override {
    return std::make_unique<Loop>(this);
  }

  ManualClock clock;
  MemoryStore memory{1000, clock.clock()};
  std::function<void()> while_deciding;
  Status failure;
  bool inline_answers = false;
};

struct Ear final : Listener {
  explicit Ear(StoreLoop* loop) : Listener(loop) {}

  void decided(Status status, const Decision& said,
               const LevelReports& reports) noexcept override {
    ++calls;
    code = status.code();
    decision = said;
    levels = reports.size();
    policy = levels > 0 ? std::string(reports.back().policy) : "";
  }

  int calls = 0;
  Code code = Code::kOk;
  Decision decision;
  std::size_t levels = 0;
  std::string policy;
};

class RemoteTest : public testing::Test {
 protected:
  // Starts a request whose strings are freed before the answer.
  bool start(Ear* ear, Status* outcome, bool wants_reports = true,
             const std::string& action = "trade") {
    const std::string user = "alexander the great, of Macedon";
    const Strings path = {"user", user, action};
    const PathCost path_cost{path, 1};
    LevelReports reports;
    if (wants_reports) answer.reports = &reports;
    const bool done = limiter->decide_async(
        Operation::kAuthorize, {{&path_cost, 1}}, &answer, ear, outcome);
    answer.reports = nullptr;
    return done;
  }

  SlowStore* store = new SlowStore;
  std::optional<Limiter> limiter{std::in_place, tree_of(kYaml), Options(),
                                 std::unique_ptr<Store>(store)};
  std::unique_ptr<StoreLoop> loop = limiter->new_loop();
  Answer answer;
  Status status;
};

TEST_F(RemoteTest, AnswersWhatWasAskedBeforeTheStringsWereGone) {
  Ear first(loop.get());
  Ear second(loop.get());
  EXPECT_FALSE(start(&first, &status));
  EXPECT_FALSE(start(&second, &status, false));
  EXPECT_EQ(first.calls, 0);
  loop->run();
  EXPECT_EQ(first.calls, 1);
  EXPECT_EQ(first.code, Code::kOk);
  EXPECT_FALSE(first.decision.limited);
  EXPECT_EQ(first.levels, 2U);
  EXPECT_EQ(first.policy, "user:*/trade");
  EXPECT_EQ(second.calls, 1);
  EXPECT_TRUE(second.decision.limited);
  EXPECT_EQ(second.levels, 0U) << "not asked for";
  EXPECT_EQ(limiter->stats().totals.allowed(), 1);
  EXPECT_EQ(limiter->stats().totals.limited(), 1);
}

TEST_F(RemoteTest, AnswersAtOnceWhereTheStoreDoes) {
  store->inline_answers = true;
  Ear ear(loop.get());
  EXPECT_TRUE(start(&ear, &status));
  EXPECT_TRUE(status.ok());
  EXPECT_FALSE(answer.decision.limited);
  EXPECT_EQ(answer.decision.level_count, 2);
  EXPECT_EQ(ear.calls, 0);
}

TEST_F(RemoteTest, RefusesAtOnceWhatIsNotInTheTree) {
  const Strings path = {"usr"};
  const PathCost path_cost{path, 1};
  Ear ear(loop.get());
  EXPECT_TRUE(limiter->decide_async(Operation::kAuthorize, {{&path_cost, 1}},
                                    &answer, &ear, &status));
  EXPECT_EQ(status.code(), Code::kUnknownRoot);
  EXPECT_EQ(ear.calls, 0);
  EXPECT_EQ(limiter->stats().totals.errors, 1);
}

TEST_F(RemoteTest, TellsFailures) {
  Ear ear(loop.get());
  EXPECT_FALSE(start(&ear, &status));
  store->failure = Status(Code::kStoreTimeout, "slow");
  loop->run();
  EXPECT_EQ(ear.calls, 1);
  EXPECT_EQ(ear.code, Code::kStoreTimeout);
  EXPECT_EQ(ear.levels, 0U);
  EXPECT_EQ(limiter->stats().totals.errors, 1);
}

TEST_F(RemoteTest, CancelsWhatIsPendingWhenItGoes) {
  Ear ear(loop.get());
  EXPECT_FALSE(start(&ear, &status));
  loop.reset();
  EXPECT_EQ(ear.calls, 1);
  EXPECT_EQ(ear.code, Code::kCancelled);
  EXPECT_EQ(limiter->stats().totals.errors, 1);
}

TEST_F(RemoteTest, ResetsWithoutWaiting) {
  Ear ears[] = {Ear(loop.get()), Ear(loop.get())};
  for (Ear& ear : ears) EXPECT_FALSE(start(&ear, &status));
  loop->run();
  EXPECT_TRUE(ears[1].decision.limited);
  const auto reset = [&](Forget which, Ear* ear) {
    const std::string user = "alexander the great, of Macedon";
    const Strings path = {"user", user, "trade"};
    return limiter->reset_async(path, which, ear, &status);
  };
  Ear ear(loop.get());
  EXPECT_FALSE(reset(Forget::kLeaf, &ear));
  EXPECT_EQ(ear.calls, 0);
  loop->run();
  EXPECT_EQ(ear.calls, 1);
  EXPECT_EQ(ear.code, Code::kOk);
  for (Ear& again : ears) EXPECT_FALSE(start(&again, &status));
  loop->run();
  EXPECT_FALSE(ears[0].decision.limited) << "the trades of an hour";
  EXPECT_EQ(ears[0].decision.remaining, 0) << "two of two in this minute";
  store->failure = Status(Code::kStoreTimeout, "slow");
  EXPECT_FALSE(reset(Forget::kPath, &ear));
  loop->run();
  EXPECT_EQ(ear.calls, 2);
  EXPECT_EQ(ear.code, Code::kStoreTimeout);
}

TEST_F(RemoteTest, ResetsNothingWhereThereIsNothing) {
  Ear ear(loop.get());
  EXPECT_TRUE(
      limiter->reset_async(Strings{"nobody"}, Forget::kPath, &ear, &status));
  EXPECT_EQ(status.code(), Code::kUnknownRoot);
  const auto free = tree_of("schema: {user: {children: {'*': {}}}}");
  ASSERT_TRUE(limiter->reload(*free).ok());
  EXPECT_TRUE(limiter->reset_async(Strings{"user", "alex"}, Forget::kPath, &ear,
                                   &status));
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(ear.calls, 0);
}

TEST_F(RemoteTest, BlocksWithoutWaiting) {
  const auto tree = tree_of(
      "schema: {user: {children: {'*': {limits: [5/m, {block: true}]}}}}");
  ASSERT_TRUE(limiter->reload(*tree).ok());
  const auto path = std::make_unique<Strings>(Strings{"user", "alex"});
  const auto limited = [&] {
    const PathCost path_cost{*path, 1};
    Decision decision;
    EXPECT_TRUE(
        limiter->decide(Operation::kPeek, {{&path_cost, 1}}, nullptr, &decision)
            .ok());
    return decision.limited;
  };
  Ear ear(loop.get());
  EXPECT_TRUE(limiter->block_async(*path, Duration(0), &ear, &status));
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_FALSE(limiter->block_async(Strings(*path), std::chrono::hours(1), &ear,
                                    &status));
  loop->run();
  EXPECT_EQ(ear.calls, 1);
  EXPECT_EQ(ear.code, Code::kOk);
  EXPECT_TRUE(limited());
  EXPECT_FALSE(limiter->reset_async(*path, Forget::kBlock, &ear, &status));
  loop->run();
  EXPECT_EQ(ear.calls, 2);
  EXPECT_FALSE(limited());
  store->failure = Status(Code::kStoreUnavailable, "away");
  EXPECT_FALSE(
      limiter->block_async(*path, std::chrono::hours(1), &ear, &status));
  loop->run();
  EXPECT_EQ(ear.code, Code::kStoreUnavailable);
}

TEST_F(RemoteTest, EachLoopAnswersItsOwn) {
  const std::unique_ptr<StoreLoop> other_loop = limiter->new_loop();
  Ear ear(loop.get());
  Ear other(other_loop.get());
  EXPECT_FALSE(start(&ear, &status));
  EXPECT_FALSE(start(&other, &status));
  other_loop->run();
  EXPECT_EQ(ear.calls, 0);
  EXPECT_EQ(other.calls, 1);
  loop->run();
  EXPECT_EQ(ear.calls, 1);
  EXPECT_TRUE(ear.decision.limited) << "the other was first";
  EXPECT_EQ(limiter->stats().totals.allowed(), 1);
  EXPECT_EQ(limiter->stats().totals.limited(), 1);
}

TEST_F(RemoteTest, FinishesOnTheTreeItBeganWith) {
  Ear ear(loop.get());
  EXPECT_FALSE(start(&ear, &status));
  const auto other = tree_of("schema: {user: {limits: 9/day}}");
  ASSERT_TRUE(limiter->reload(*other).ok());
  loop->run();
  EXPECT_EQ(ear.levels, 2U);
  EXPECT_EQ(ear.policy, "user:*/trade");
}

// A store that takes a minute must not delay other threads.
TEST_F(RemoteTest, HoldsNothingWhileTheStoreIsAsked) {
  const Strings path = {"user", "alex"};
  std::promise<void> asked;
  std::promise<void> go_on;
  int calls = 0;
  store->while_deciding = [&] {
    if (calls++ > 0) return;
    asked.set_value();
    go_on.get_future().wait();
  };
  const auto decide = [&] {
    const PathCost path_cost{path, 1};
    Decision decision;
    EXPECT_TRUE(limiter
                    ->decide(Operation::kAuthorize, {{&path_cost, 1}}, nullptr,
                             &decision)
                    .ok());
    return decision.limit;
  };
  std::thread slow([&] { EXPECT_EQ(decide(), 2); });
  asked.get_future().wait();
  const auto wider =
      tree_of(R"(schema: {user: {children: {"*": {limits: 5/day}}}})");
  EXPECT_TRUE(limiter->reload(*wider).ok());
  EXPECT_EQ(decide(), 5);
  EXPECT_EQ(limiter->stats().reloads, 1);
  go_on.set_value();
  slow.join();
}

}  // namespace
}  // namespace limitree::remote_test
