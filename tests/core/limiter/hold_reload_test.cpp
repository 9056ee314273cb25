// Random reservations while limits are reloaded all the time: they shrink below
// what is held, lose `hold`, or change their algorithm.  Memory, shm:// and
// Redis give the same answers, and nothing stays held.

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/store/manual_clock.hpp"
#include "core/store/redis/redis_server.hpp"
#include "core/store/temporary_folder.hpp"
#include "core/tree/loaded.hpp"
#include "limiter/limiter.hpp"
#include "limiter/make_store.hpp"
#include "traces/limits.hpp"

namespace limitree::hold_reload_test {
namespace {

using traces::between;
using traces::Random;
using traces::Shape;

// Of the parameter: whether windows may lose `hold`, which Redis does not
// follow.
class HoldReload : public testing::TestWithParam<bool> {
 protected:
  HoldReload() {
    clock_.set(Instant(std::chrono::seconds(1'750'000'000)));
    std::vector<std::string> urls = {"memory://",
                                     "shm://" + folder_.path() + "/limits"};
    if (!GetParam()) {
      server_ = std::make_unique<redis::RedisServer>();
      urls.push_back("redis://127.0.0.1:" + std::to_string(server_->port()));
    }
    for (const std::string& url : urls) {
      Options options;
      options.clock = clock_.clock();
      for (const auto& [name, value] :
           {std::pair<const char*, std::string>{"store", url},
            {"max_buckets", "1000"},
            {"timeout", "30s"}}) {
        EXPECT_TRUE(set_option(name, value, &options).ok());
      }
      limiters_.push_back(std::make_unique<Limiter>(
          std::make_shared<const Tree>(loaded(yaml_of(shape_))), options,
          std::move(make_store(options).value())));
    }
  }

  // A gcra always holds: memory and shm:// forget its bucket where it begins
  // to, or no longer does, and Redis does not.
  Shape next_shape() {
    Shape shape = traces::random_shape(true, random_);
    for (traces::OneLimit& limit : shape.limits) {
      limit.capacity =
          between(1, between(0, 1, random_) == 0 ? 4 : 40, random_);
      const bool counts = limit.algorithm == Algorithm::kFixedWindow;
      const bool loses = GetParam() && counts && between(0, 2, random_) == 0;
      // Stores forget at different times what is over by the limit that it was
      // written with.  So nothing that is charged is over before the test goes
      // on with other buckets.
      limit.by_calendar = counts;
      limit.interval_ns = between(600, 1000, random_) * 1'000'000'000;
      limit.frees = limit.algorithm == Algorithm::kConcurrent;
      limit.hold_ns = loses ? 0 : traces::of_any_size(1e6, 6e10, random_);
    }
    return shape;
  }

  // The limits of all jobs.  The same names come again with other rules.
  std::string yaml_of(const Shape& shape) const {
    return "schema: {job: {children: {'*': {limits: " + shape.yaml() + "}}}}";
  }

  void reload() {
    shape_ = next_shape();
    for (const auto& limiter : limiters_) {
      ASSERT_TRUE(limiter->reload(loaded(yaml_of(shape_))).ok());
    }
  }

  // All that a limiter answers, as text.
  std::string answer(Limiter* limiter, Operation operation, const Costs& costs,
                     Decision* decision, LevelReports* reports) const {
    *decision = {};
    const Status status = limiter->decide(operation, costs, reports, decision);
    if (!status.ok()) return status.message();
    std::string text = "held " + std::to_string(decision->held);
    for (const LevelReport& level : *reports) {
      const Verdict& verdict = level.verdict;
      text += "\n  " + std::string(level.policy) +
              (verdict.limited ? " limited" : "") +
              (verdict.charged ? " charged" : "");
      for (const std::int64_t number :
           {verdict.remaining, verdict.retry_after.count(),
            verdict.reset_after.count(), verdict.next_after.count()}) {
        text += " " + std::to_string(number);
      }
      EXPECT_GE(verdict.remaining, 0);
      EXPECT_LE(verdict.remaining, level.capacity);
    }
    return text;
  }

  // Asks all limiters; returns how many levels held.
  std::int32_t ask(Operation operation, std::int64_t requests,
                   std::int64_t tokens, HoldId id = {}, Duration hold = {}) {
    const std::array<std::string_view, 2> path = {"job", name_};
    const PathCost cost{path, requests};
    const UnitCost unit{"tokens", tokens};
    const bool names = shape_.has_tokens && tokens != kAsHeld;
    const Costs costs({&cost, 1}, {&unit, names ? 1U : 0U}, {id, hold});
    std::string first;
    Decision decision;
    for (const auto& limiter : limiters_) {
      const std::string text =
          answer(limiter.get(), operation, costs, &decision, &reports_);
      if (limiter == limiters_.front()) first = text;
      EXPECT_EQ(text, first)
          << limiter->store_file().has_value() << " at "
          << clock_.now().time_since_epoch().count() << " operation "
          << static_cast<int>(operation) << " requests " << requests
          << " tokens " << tokens << " hold " << hold.count() << " id "
          << id.low << " limits " << shape_.yaml() << "\n"
          << history_;
    }
    history_ += std::to_string(clock_.now().time_since_epoch().count()) +
                " operation " + std::to_string(static_cast<int>(operation)) +
                " " + std::to_string(requests) + " " + std::to_string(tokens) +
                " hold " + std::to_string(hold.count()) + " id " +
                std::to_string(id.low) + ": " + first + "\n";
    return decision.held;
  }

  void step() {
    clock_.advance(Duration(traces::of_any_size(1, 2e9, random_)));
    if (between(0, 11, random_) == 0) {
      reload();
      history_ += "reload " + shape_.yaml() + "\n";
    }
    const std::int64_t requests = between(1, 3, random_);
    const std::int64_t tokens = between(0, 9, random_);
    const Duration hold{between(0, 1, random_) == 0
                            ? 0
                            : traces::of_any_size(1, 6e10, random_)};
    const std::int64_t kind = between(0, 19, random_);
    if (kind < 9) {
      const HoldId id{1, ++last_id_};
      if (ask(Operation::kReserve, requests, tokens, id, hold) > 0) ++held_;
    } else if (kind < 15) {
      const bool as_held = between(0, 1, random_) == 0;
      const auto back = static_cast<std::uint64_t>(between(0, 3, random_));
      const HoldId id{1, last_id_ - std::min(back, last_id_)};
      if (ask(Operation::kSettle, as_held ? kAsHeld : requests - 1,
              as_held ? kAsHeld : tokens, id) > 0) {
        ++settled_;
      }
    } else if (kind < 16) {
      ask(Operation::kExtend, kAsHeld, kAsHeld, {1, last_id_},
          Duration(traces::of_any_size(1, 6e10, random_)));
    } else {
      static constexpr Operation kOthers[] = {
          Operation::kAuthorize, Operation::kSpend, Operation::kRefund,
          Operation::kPeek};
      ask(kOthers[kind - 16], requests, tokens);
    }
  }

  // Long afterwards all is free, whatever the limits were.  Goes on with other
  // buckets.
  void expect_all_free() {
    clock_.advance(std::chrono::hours(30));
    ask(Operation::kReserve, 1000, 1000, {9, 9});  // denied, but it books
    clock_.advance(std::chrono::hours(30));
    ask(Operation::kLook, 0, 0);
    for (const LevelReport& level : reports_) {
      EXPECT_EQ(level.verdict.remaining, level.capacity) << history_;
    }
    name_ += "x";
    history_.clear();
  }

  ManualClock clock_;
  Random random_{7};
  Shape shape_ = next_shape();
  const TemporaryFolder folder_{"reload"};
  std::unique_ptr<redis::RedisServer> server_;
  std::vector<std::unique_ptr<Limiter>> limiters_;
  std::uint64_t last_id_ = 0;
  LevelReports reports_;
  std::string name_ = "x";
  std::string history_;  // of this name
  int held_ = 0;
  int settled_ = 0;
};

TEST_P(HoldReload, AnswersStayTheSame) {
  for (int i = 0; i < (GetParam() ? 30000 : 6000) && !HasFailure(); ++i) {
    SCOPED_TRACE("step " + std::to_string(i));
    step();
    if (i % 200 == 199) expect_all_free();
  }
  EXPECT_GT(held_, 500);
  EXPECT_GT(settled_, 100);
}

INSTANTIATE_TEST_SUITE_P(Windows, HoldReload, testing::Values(false, true),
                         [](const auto& one) {
                           return one.param ? "LoseHold" : "KeepHold";
                         });

}  // namespace
}  // namespace limitree::hold_reload_test
