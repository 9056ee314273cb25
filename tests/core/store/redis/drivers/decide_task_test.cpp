// Runs a DecideTask step by step: what it sends, and how it handles the
// answers.  One server plays all nodes of a cluster in which each key has its
// own slot.

#include "store/redis/drivers/decide_task.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>
#include <thread>

#include "base/decision.hpp"
#include "core/store/manual_clock.hpp"
#include "core/store/redis/redis_server.hpp"
#include "store/memory/memory_store.hpp"
#include "store/redis/common/remote.hpp"
#include "store/remote/drivers/attempt.hpp"

namespace limitree::redis {
namespace {

class SlotPerKey final : public Router {
 public:
  Node* route(const Target&) override { return nullptr; }
  bool learn(Node*, const Target&, const Outcome&) override { return false; }
  void for_each(const std::function<void(Node*)>&) override {}
  std::int32_t slot_of(std::string_view key) const override {
    const auto [at, is_new] =
        slots_.emplace(key, static_cast<std::int32_t>(slots_.size()));
    return at->second;
  }

 private:
  mutable std::map<std::string, std::int32_t, std::less<>> slots_;
};

Outcome error_reply(const std::string& text) {
  redisReader* const reader = redisReaderCreate();
  const std::string bytes = "-" + text + "\r\n";
  redisReaderFeed(reader, bytes.data(), bytes.size());
  void* reply = nullptr;
  redisReaderGetReply(reader, &reply);
  redisReaderFree(reader);
  return answered(Reply(static_cast<redisReply*>(reply)));
}

Limit limit_of(Duration interval, std::int64_t capacity,
               Mode mode = Mode::kEnforce,
               Charge charge = Charge::kAllOrNothing) {
  Limit limit;
  limit.rate = {interval, capacity};
  limit.mode = mode;
  limit.charge = charge;
  return limit;
}

class DecideTaskTest : public testing::Test {
 protected:
  static RedisServer& server() {
    static RedisServer server;
    return server;
  }

  DecideTaskTest() {
    settings_.url.topology = Topology::kCluster;
    settings_.url.endpoints.push_back({.host = "cluster.test", .port = 6379});
    server().cli({"FLUSHALL"});
    server().cli({"SCRIPT", "FLUSH"});
    context_.reset(redisConnect("127.0.0.1", server().port()));
    EXPECT_EQ(context_->err, 0);
  }

  Outcome send(std::string_view bytes) {
    ++sent_;
    redisAppendFormattedCommand(context_.get(), bytes.data(), bytes.size());
    void* reply = nullptr;
    EXPECT_EQ(redisGetReply(context_.get(), &reply), REDIS_OK);
    Outcome outcome = answered(Reply(static_cast<redisReply*>(reply)));
    if (outcome.failure == Failure::kNoScript) {
      --sent_;
      ++scripts_;
    }
    return outcome;
  }

  using Substitute = std::function<std::optional<Outcome>(const Task&)>;

  // Decides the plan; `answer` may answer instead of the server.
  Status run(Plan* plan, const Substitute& answer = nullptr) {
    DecideTask task(plan, settings_, router_, clock_.clock().now());
    drive(&task, answer);
    return task.conclude();
  }

  void drive(DecideTask* task, const Substitute& answer) {
    Task::Step step = task->start();
    while (step.kind != Task::Step::Kind::kDone) {
      if (step.kind == Task::Step::Kind::kPause) {
        ++pauses_;
        EXPECT_GT(step.pause, Duration(0));
        step = task->resumed();
        continue;
      }
      std::optional<Outcome> outcome;
      if (answer) outcome = answer(*task);
      const bool last = outcome && outcome->failure == Failure::kTimeout;
      if (!outcome) outcome = send(task->bytes());
      show_reply(task, &*outcome);
      step = task->answered(std::move(*outcome));
      if (last) break;
    }
  }

  // Gives the keys their slots in this order.  A task asks slots in that order,
  // too.
  void in_order(const std::vector<std::string_view>& names) {
    for (const std::string_view name : names) debt(name);
    sent_ = 0;
  }

  // A plan with one level for each name.  Each name has its own key and slot.
  static std::unique_ptr<Plan> plan_of(
      Operation operation, const std::vector<std::string_view>& names,
      const std::vector<const Limit*>& limits, std::int64_t cost = 1) {
    auto plan = std::make_unique<Plan>(operation);
    for (std::uint32_t i = 0; i < names.size(); ++i) {
      plan->segments.emplace_back(names[i], Segment::Kind::kCaller);
      plan->add_level(limits[i], i, 1u, cost);
    }
    return plan;
  }

  Duration debt(std::string_view name) {
    const auto plan = plan_of(Operation::kPeek, {name}, {&wide_}, 0);
    EXPECT_TRUE(run(plan.get()).ok());
    return plan->levels[0].debt;
  }

  struct Free {
    void operator()(redisContext* context) const { redisFree(context); }
  };

  const Limit wide_ = limit_of(std::chrono::seconds(1), 10);
  const Limit tight_ = limit_of(std::chrono::seconds(1), 1);
  Settings settings_;
  SlotPerKey router_;
  ManualClock clock_;
  std::unique_ptr<redisContext, Free> context_;
  int sent_ = 0;     // commands, except those answered NOSCRIPT
  int scripts_ = 0;  // commands answered NOSCRIPT
  int pauses_ = 0;
};

TEST_F(DecideTaskTest, ChargesEverySlotIfAllAllow) {
  const auto plan = plan_of(Operation::kAuthorize, {"a", "b", "c"},
                            {&wide_, &tight_, &wide_});
  ASSERT_TRUE(run(plan.get()).ok());
  EXPECT_FALSE(aggregate(*plan).limited);
  EXPECT_EQ(sent_, 3);
  EXPECT_EQ(scripts_, 2) << "one for each of the two limits";
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_EQ(debt(name), std::chrono::seconds(1)) << name;
  }
}

TEST_F(DecideTaskTest, GivesBackWhatWasChargedBeforeADenial) {
  const std::vector<const Limit*> limits = {&wide_, &tight_, &wide_};
  in_order({"a", "b", "c"});
  ASSERT_TRUE(run(plan_of(Operation::kSpend, {"b"}, {&tight_}).get()).ok());
  const auto plan = plan_of(Operation::kAuthorize, {"a", "b", "c"}, limits);
  ASSERT_TRUE(run(plan.get()).ok());
  const Decision decision = aggregate(*plan);
  EXPECT_TRUE(decision.limited);
  EXPECT_EQ(decision.retry_after, std::chrono::seconds(1));
  EXPECT_EQ(plan->levels[0].verdict.remaining, 10);
  EXPECT_EQ(plan->levels[2].verdict.remaining, 10) << "read, but not charged";
  EXPECT_EQ(sent_, 5) << "one spend before, three slots asked, one refund";
  EXPECT_EQ(debt("a"), Duration(0));
  EXPECT_EQ(debt("b"), std::chrono::seconds(1));
  EXPECT_EQ(debt("c"), Duration(0));
}

// While the others are asked, time gives back some of it, which somebody else
// may have used.
TEST_F(DecideTaskTest, GivesBackOnlyWhatTimeHasLeft) {
  const Limit slow = limit_of(std::chrono::minutes(1), 10);
  const auto by_clock_of_server = [&](Plan* plan, const Substitute& answer) {
    DecideTask task(plan, settings_, router_, std::nullopt);
    drive(&task, answer);
    EXPECT_TRUE(task.conclude().ok());
  };
  const auto spend = [&](std::string_view name, std::int64_t cost) {
    by_clock_of_server(plan_of(Operation::kSpend, {name}, {&slow}, cost).get(),
                       nullptr);
  };
  in_order({"a", "b"});
  spend("b", 10);
  const auto plan = plan_of(Operation::kAuthorize, {"a", "b"}, {&slow, &slow});
  Monotonic spent{};
  by_clock_of_server(plan.get(), [&](const Task& asked) {
    const bool is_last = asked.bytes().find("{b}") != std::string_view::npos;
    if (is_last && spent == Monotonic{}) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      spent = std::chrono::steady_clock::now();
      spend("a", 1);
    }
    return std::nullopt;
  });
  EXPECT_TRUE(aggregate(*plan).limited);
  const auto peek = plan_of(Operation::kPeek, {"a"}, {&slow}, 0);
  by_clock_of_server(peek.get(), nullptr);
  const Duration passed = std::chrono::steady_clock::now() - spent;
  EXPECT_GE(peek->levels[0].debt + passed + std::chrono::milliseconds(1),
            std::chrono::minutes(1));
}

// In whatever order they are asked.
TEST_F(DecideTaskTest, CountsDenialsOfLaterSlots) {
  Limit counts =
      limit_of(std::chrono::hours(1), 1, Mode::kEnforce, Charge::kDenials);
  counts.suffix = "#counts";
  const auto counted = [&](std::string_view name) {
    const auto peek = plan_of(Operation::kPeek, {name}, {&counts}, 0);
    EXPECT_TRUE(run(peek.get()).ok());
    return peek->levels[0].debt;
  };
  in_order({"a", "b", "c", "d"});
  ASSERT_TRUE(run(plan_of(Operation::kSpend, {"c"}, {&tight_}).get()).ok());
  const auto plan = plan_of(Operation::kAuthorize, {"a", "a", "b", "c", "d"},
                            {&counts, &wide_, &counts, &tight_, &counts});
  sent_ = 0;
  ASSERT_TRUE(run(plan.get()).ok());
  EXPECT_EQ(aggregate(*plan).retry_after, std::chrono::hours(1));
  EXPECT_EQ(sent_, 7) << "four slots, two counts, and a refund";
  EXPECT_EQ(debt("a"), Duration(0));
  for (const std::string_view name : {"a", "b", "d"}) {
    EXPECT_EQ(counted(name), std::chrono::hours(1)) << name;
  }
  // A request that is allowed counts none.
  const auto other =
      plan_of(Operation::kAuthorize, {"e", "f"}, {&counts, &wide_});
  sent_ = 0;
  ASSERT_TRUE(run(other.get()).ok());
  EXPECT_EQ(sent_, 2);
  EXPECT_EQ(counted("e"), Duration(0));
  // Nor does one that fails.
  int calls = 0;
  const auto fails =
      plan_of(Operation::kAuthorize, {"e", "f"}, {&counts, &wide_});
  const Status status =
      run(fails.get(), [&](const Task&) -> std::optional<Outcome> {
        if (++calls == 2) return error_reply("OOM command not allowed");
        return std::nullopt;
      });
  EXPECT_EQ(status.code(), Code::kStoreUnavailable);
  EXPECT_EQ(counted("e"), Duration(0));
}

// After another slot has denied the request, a slot is charged nothing.  But if
// it owes more than its limit holds, its debt is reduced to that.
TEST_F(DecideTaskTest, HoldsWhatOwesTooMuchAfterADenial) {
  in_order({"a", "b", "c"});
  for (const std::string_view name : {"a", "b", "c"}) {
    ASSERT_TRUE(
        run(plan_of(Operation::kSpend, {name}, {&wide_}, 9).get()).ok());
  }
  const Limit shadow = limit_of(std::chrono::seconds(1), 3, Mode::kShadow);
  const auto plan = plan_of(Operation::kAuthorize, {"a", "b", "c"},
                            {&tight_, &shadow, &wide_});
  ASSERT_TRUE(run(plan.get()).ok());
  EXPECT_TRUE(aggregate(*plan).limited);
  EXPECT_EQ(debt("a"), std::chrono::seconds(1));
  EXPECT_EQ(debt("b"), std::chrono::seconds(3));
  EXPECT_EQ(debt("c"), std::chrono::seconds(9)) << "fits, so it stays the same";
}

// Where every hit counts, no slot waits for another, and none gives back.
TEST_F(DecideTaskTest, CountsEveryHitInEverySlot) {
  const Limit one = make_counter(1, std::chrono::hours(1));
  const Limit many = make_counter(100, std::chrono::hours(1));
  const std::vector<std::string_view> names = {"a", "b", "c"};
  for (int i = 0; i < 3; ++i) {
    sent_ = 0;
    const auto plan =
        plan_of(Operation::kAuthorize, names, {&many, &one, &many}, 2);
    ASSERT_TRUE(run(plan.get()).ok());
    EXPECT_TRUE(aggregate(*plan).limited) << "2 of 1";
    EXPECT_EQ(sent_, 3);
    for (const Level& level : plan->levels) EXPECT_EQ(level.before, 2 * i);
  }
  EXPECT_EQ(scripts_, 1) << "for both limits, before a denial and after it";
}

// Each part is one slot.  Only the whole has verdicts.
TEST_F(DecideTaskTest, HasAPartForEachSlotThatDependsOnNone) {
  const Limit counter = make_counter(1, std::chrono::hours(1));
  const auto parts = [this](Plan* plan) {
    return DecideTask(plan, settings_, router_, clock_.clock().now()).parts();
  };
  const auto joint =
      plan_of(Operation::kAuthorize, {"a", "b"}, {&counter, &wide_});
  EXPECT_EQ(parts(joint.get()), 1U);
  joint->operation = Operation::kRefund;
  EXPECT_EQ(parts(joint.get()), 2U);

  const auto plan =
      plan_of(Operation::kAuthorize, {"a", "b"}, {&counter, &counter}, 2);
  DecideTask whole(plan.get(), settings_, router_, clock_.clock().now());
  ASSERT_EQ(whole.parts(), 2U);
  DecideTask first(whole, 0);
  DecideTask second(whole, 1);
  for (DecideTask* const part : {&second, &first}) {
    drive(part, nullptr);
    EXPECT_TRUE(part->take_status().ok());
  }
  EXPECT_TRUE(whole.conclude().ok());
  for (const Level& level : plan->levels) EXPECT_TRUE(level.verdict.limited);
}

// What was counted before another slot failed stays counted.
TEST_F(DecideTaskTest, GivesNoHitsBackWhenALaterSlotFails) {
  const Limit counter = make_counter(100, std::chrono::hours(1));
  const auto plan =
      plan_of(Operation::kAuthorize, {"a", "b"}, {&counter, &counter});
  int calls = 0;
  const Status status =
      run(plan.get(), [&](const Task&) -> std::optional<Outcome> {
        // The first slot takes two calls, because the server lacks the script.
        if (++calls == 3) return error_reply("OOM command not allowed");
        return std::nullopt;
      });
  EXPECT_EQ(status.code(), Code::kStoreUnavailable);
  EXPECT_EQ(calls, 3);
  const auto peek = plan_of(Operation::kPeek, {"a"}, {&counter}, 0);
  ASSERT_TRUE(run(peek.get()).ok());
  EXPECT_EQ(peek->levels[0].before, 1);
}

// The same for fixed windows, which are stored differently.  Units of a window
// that has not begun become units of the current one.
TEST_F(DecideTaskTest, HoldsWindowsAfterADenial) {
  in_order({"a", "b"});
  Limit window = limit_of(std::chrono::seconds(12), 5);
  window.algorithm = Algorithm::kFixedWindow;
  window.period = std::chrono::minutes(1);
  window.rules = std::make_shared<const Rules>();
  const auto spend = [&](std::string_view name, const Limit* limit) {
    return run(plan_of(Operation::kSpend, {name}, {limit}).get());
  };
  ASSERT_TRUE(spend("b", &window).ok());
  clock_.advance(-std::chrono::hours(1));
  ASSERT_TRUE(spend("a", &tight_).ok());
  const auto plan =
      plan_of(Operation::kAuthorize, {"a", "b"}, {&tight_, &window});
  ASSERT_TRUE(run(plan.get()).ok());
  EXPECT_TRUE(aggregate(*plan).limited);
  clock_.advance(std::chrono::minutes(1));
  const auto peek = plan_of(Operation::kPeek, {"b"}, {&window}, 0);
  ASSERT_TRUE(run(peek.get()).ok());
  EXPECT_EQ(peek->levels[0].verdict.remaining, 5)
      << "the units moved to the denied request's window, now over";
}

// Every verdict is that of the memory store, however many slots a request has.
// So a denied request must also leave the same state as in memory.
TEST_F(DecideTaskTest, DecidesAsTheMemoryStoreDoes) {
  in_order({"c", "a", "e", "b", "d"});
  MemoryStore memory(1000, clock_.clock());
  std::vector<Limit> limits;
  for (const Mode mode : {Mode::kEnforce, Mode::kShadow, Mode::kCheck}) {
    for (const Charge charge :
         {Charge::kAllOrNothing, Charge::kIndependent, Charge::kDenials}) {
      for (const std::int64_t capacity : {1, 3, 8}) {
        limits.push_back(
            limit_of(std::chrono::milliseconds(700), capacity, mode, charge));
      }
    }
  }
  for (const Mode mode : {Mode::kEnforce, Mode::kShadow, Mode::kCheck}) {
    for (const Charge charge : {Charge::kAllOrDenying, Charge::kEveryHit}) {
      for (const std::int64_t count : {1, 3, 8}) {
        Limit& limit =
            limits.emplace_back(make_counter(count, std::chrono::seconds(5)));
        limit.mode = mode;
        limit.charge = charge;
      }
    }
  }
  constexpr std::string_view kNames[] = {"a", "b", "c", "d", "e"};
  constexpr Operation kOperations[] = {
      Operation::kAuthorize, Operation::kAuthorize, Operation::kAuthorize,
      Operation::kSpend,     Operation::kRefund,    Operation::kPeek};
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) {
    const Operation operation = kOperations[random() % 6];
    std::vector<std::string_view> names;
    std::vector<const Limit*> met;
    for (const std::string_view name : kNames) {
      if (random() % 2 == 0) continue;
      names.push_back(name);
      met.push_back(&limits[random() % limits.size()]);
    }
    if (names.empty()) continue;
    const std::int64_t cost = random() % 4;
    const auto ours = plan_of(operation, names, met, cost);
    const auto theirs = plan_of(operation, names, met, cost);
    ASSERT_TRUE(run(ours.get()).ok());
    ASSERT_TRUE(memory.decide(theirs.get()).ok());
    for (std::size_t k = 0; k < names.size(); ++k) {
      const Verdict& a = ours->levels[k].verdict;
      const Verdict& b = theirs->levels[k].verdict;
      ASSERT_EQ(a.limited, b.limited) << i;
      ASSERT_EQ(a.remaining, b.remaining) << i;
      ASSERT_EQ(a.reset_after, b.reset_after) << i;
      ASSERT_EQ(a.retry_after, b.retry_after) << i;
      ASSERT_EQ(a.charged, b.charged) << i;
      if (met[k]->is_plain()) continue;
      ASSERT_EQ(ours->levels[k].before, theirs->levels[k].before) << i;
    }
    clock_.advance(std::chrono::milliseconds(random() % 900));
  }
}

Limit held_limit(std::int64_t count, Duration hold) {
  Limit limit = limit_of(std::chrono::milliseconds(700), count);
  Rules rules;
  rules.hold = hold;
  limit.rules = std::make_shared<const Rules>(rules);
  limit.suffix = "#held";
  return limit;
}

TEST_F(DecideTaskTest, CancelsWhatIsHeldBeforeADenial) {
  const Limit held = held_limit(10, std::chrono::seconds(9));
  in_order({"a", "b", "c"});
  ASSERT_TRUE(run(plan_of(Operation::kSpend, {"c"}, {&tight_}).get()).ok());
  sent_ = 0;
  // Slot "a" has a level that holds and one that is charged.
  const auto plan = plan_of(Operation::kReserve, {"a", "a", "b", "c"},
                            {&held, &wide_, &held, &tight_}, 1);
  plan->reservation.id = {1, 2};
  ASSERT_TRUE(run(plan.get()).ok());
  EXPECT_TRUE(aggregate(*plan).limited);
  EXPECT_EQ(sent_, 6) << "three slots, two cancellations, and a refund";
  for (const Level& level : plan->levels) {
    EXPECT_FALSE(level.verdict.charged);
    EXPECT_EQ(level.cost, 1);
  }
  EXPECT_EQ(debt("a"), Duration(0));
  for (const std::string_view name : {"a", "b"}) {
    const auto peek = plan_of(Operation::kPeek, {name}, {&held}, 0);
    ASSERT_TRUE(run(peek.get()).ok());
    EXPECT_EQ(peek->levels[0].verdict.remaining, 10);
    EXPECT_EQ(peek->levels[0].verdict.reset_after, Duration(0));
  }
}

// The hold of a slot that cannot be asked again ends by itself.
TEST_F(DecideTaskTest, CancelsWhenALaterSlotFails) {
  const Limit held = held_limit(10, std::chrono::seconds(9));
  const auto plan = plan_of(Operation::kReserve, {"a", "b"}, {&held, &held});
  int calls = 0;
  const Status status =
      run(plan.get(), [&](const Task&) -> std::optional<Outcome> {
        if (++calls == 3) return error_reply("OOM command not allowed");
        return std::nullopt;
      });
  EXPECT_EQ(status.code(), Code::kStoreUnavailable);
  const auto peek = plan_of(Operation::kPeek, {"a"}, {&held}, 0);
  ASSERT_TRUE(run(peek.get()).ok());
  EXPECT_EQ(peek->levels[0].verdict.remaining, 10);
}

// In any number of slots, reservations are those of the memory store.
TEST_F(DecideTaskTest, ReservesAsTheMemoryStoreDoes) {
  in_order({"c", "a", "e", "b", "d"});
  MemoryStore memory(1000, clock_.clock());
  std::vector<Limit> limits = {held_limit(3, std::chrono::seconds(2)),
                               held_limit(20, std::chrono::seconds(30)),
                               held_limit(8, std::chrono::seconds(5))};
  limits[2].mode = Mode::kShadow;
  limits.push_back(limit_of(std::chrono::milliseconds(300), 30));
  constexpr std::string_view kNames[] = {"a", "b", "c", "d", "e"};
  std::mt19937 random(7);
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const Operation operation = random() % 4 == 0   ? Operation::kSettle
                                : random() % 9 == 0 ? Operation::kPeek
                                                    : Operation::kReserve;
    std::vector<std::string_view> names;
    std::vector<const Limit*> met;
    for (std::size_t k = 0; k < std::size(kNames); ++k) {
      const Limit& limit = limits[k % limits.size()];
      if (random() % 2 == 0) continue;
      if (operation == Operation::kSettle && !limit.holds()) continue;
      names.push_back(kNames[k]);
      met.push_back(&limit);
    }
    if (names.empty()) continue;
    const std::int64_t cost = random() % 4;
    const std::uint64_t id =
        operation == Operation::kSettle
            ? i - std::min<std::uint64_t>(i, 1 + random() % 9)
            : i;
    const auto ours = plan_of(operation, names, met, cost);
    const auto theirs = plan_of(operation, names, met, cost);
    ours->reservation.id = theirs->reservation.id = {5, id};
    ASSERT_TRUE(run(ours.get()).ok());
    ASSERT_TRUE(memory.decide(theirs.get()).ok());
    for (std::size_t k = 0; k < names.size(); ++k) {
      const Verdict& a = ours->levels[k].verdict;
      const Verdict& b = theirs->levels[k].verdict;
      ASSERT_EQ(a.limited, b.limited) << i;
      ASSERT_EQ(a.remaining, b.remaining) << i;
      ASSERT_EQ(a.reset_after, b.reset_after) << i;
      ASSERT_EQ(a.next_after, b.next_after) << i;
      ASSERT_EQ(a.charged, b.charged) << i;
    }
    clock_.advance(std::chrono::milliseconds(random() % 900));
  }
}

TEST_F(DecideTaskTest, FollowsWhereItIsSent) {
  const auto plan = plan_of(Operation::kAuthorize, {"a"}, {&wide_});
  int calls = 0;
  ASSERT_TRUE(run(plan.get(), [&](const Task& task) -> std::optional<Outcome> {
                switch (calls++) {
                  case 0:
                    return error_reply("MOVED 7 10.0.0.7:7001");
                  case 1:
                    EXPECT_FALSE(task.target().endpoint)
                        << "the router chooses the node";
                    return error_reply("TRYAGAIN Multiple keys request");
                  case 2:
                    return error_reply("ASK 7 10.0.0.8:7002");
                  case 3:
                    EXPECT_EQ(task.target().endpoint->text(), "10.0.0.8:7002");
                    EXPECT_TRUE(task.target().asking);
                    return error_reply("NOSCRIPT No matching script.");
                  case 4:
                    EXPECT_TRUE(task.target().asking) << "for the retry, too";
                    EXPECT_NE(task.bytes().find("EVAL\r\n"),
                              std::string_view::npos);
                    return error_reply("READONLY You can't write");
                  default:
                    EXPECT_FALSE(task.target().asking);
                    return std::nullopt;
                }
              }).ok());
  EXPECT_EQ(calls, 6);
  EXPECT_EQ(pauses_, 1);
  EXPECT_EQ(debt("a"), std::chrono::seconds(1));
}

TEST_F(DecideTaskTest, DoesNotGoRoundForEver) {
  for (const char* error : {"MOVED 7 10.0.0.7:7001", "ASK 7 10.0.0.7:7001",
                            "TRYAGAIN later", "READONLY no", "NOSCRIPT none"}) {
    const auto plan = plan_of(Operation::kAuthorize, {"a"}, {&wide_});
    int calls = 0;
    const Status status =
        run(plan.get(), [&](const Task&) -> std::optional<Outcome> {
          ++calls;
          return error_reply(error);
        });
    EXPECT_EQ(status.code(), Code::kStoreUnavailable) << error;
    EXPECT_LE(calls, 40) << error;
  }
}

TEST_F(DecideTaskTest, NeverSendsAgainWhatMayHaveBeenDone) {
  for (const Failure failure : {Failure::kLost, Failure::kTimeout}) {
    const auto plan = plan_of(Operation::kAuthorize, {"a"}, {&wide_});
    int calls = 0;
    const Status status =
        run(plan.get(), [&](const Task&) -> std::optional<Outcome> {
          ++calls;
          return Outcome::lost(Outcome::Fate::kUnknown, failure, "gone");
        });
    EXPECT_EQ(status.code(), Code::kStoreTimeout);
    EXPECT_STREQ(status.error().reason, failure_name(failure));
    EXPECT_EQ(status.error().messages[0], "cluster.test:6379: gone");
    EXPECT_EQ(calls, 1);
  }
}

// If a later slot fails, the request fails and earlier slots get a refund.
TEST_F(DecideTaskTest, GivesBackWhenALaterSlotFails) {
  const auto plan =
      plan_of(Operation::kAuthorize, {"a", "b"}, {&wide_, &wide_});
  int calls = 0;
  const Status status =
      run(plan.get(), [&](const Task&) -> std::optional<Outcome> {
        // The first slot takes two calls, because the server lacks the script.
        if (++calls == 3) return error_reply("OOM command not allowed");
        return std::nullopt;
      });
  EXPECT_EQ(status.code(), Code::kStoreUnavailable);
  EXPECT_STREQ(status.error().reason, "oom");
  EXPECT_EQ(debt("a"), Duration(0));
}

TEST_F(DecideTaskTest, EndsWhenTheTimeIsOver) {
  const auto plan =
      plan_of(Operation::kAuthorize, {"a", "b"}, {&wide_, &wide_});
  int calls = 0;
  const Status status =
      run(plan.get(), [&](const Task&) -> std::optional<Outcome> {
        if (++calls < 3) return std::nullopt;
        return Outcome::lost(Outcome::Fate::kNotSent, Failure::kTimeout,
                             "no time left");
      });
  EXPECT_EQ(status.code(), Code::kStoreTimeout);
  EXPECT_EQ(calls, 3);
}

// A denial stays a denial even if the refund fails.
TEST_F(DecideTaskTest, DeniesEvenIfNothingCanBeGivenBack) {
  // After this request the server has both scripts.
  ASSERT_TRUE(
      run(plan_of(Operation::kAuthorize, {"x", "y"}, {&wide_, &tight_}).get())
          .ok());
  in_order({"a", "b"});
  ASSERT_TRUE(run(plan_of(Operation::kSpend, {"b"}, {&tight_}).get()).ok());
  const auto plan =
      plan_of(Operation::kAuthorize, {"a", "b"}, {&wide_, &tight_});
  int calls = 0;
  ASSERT_TRUE(run(plan.get(), [&](const Task&) -> std::optional<Outcome> {
                if (++calls < 3) return std::nullopt;
                return error_reply("LOADING Redis is loading");
              }).ok());
  EXPECT_TRUE(aggregate(*plan).limited);
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace limitree::redis
