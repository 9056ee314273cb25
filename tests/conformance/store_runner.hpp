// Runs the vectors through the store interface: judge(), aggregate() and a
// store.

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "base/decision.hpp"
#include "base/judge.hpp"
#include "conformance/vectors.hpp"
#include "store/store.hpp"

namespace limitree::conformance {

inline std::int64_t or_never(Duration wait) {
  return wait == kNever ? -1 : wait.count();
}

inline Outcome outcome_of(const Verdict& verdict, std::int64_t capacity) {
  Decision alone;
  alone.limited = verdict.limited;
  alone.limit = capacity;
  alone.remaining = verdict.remaining;
  alone.retry_after = verdict.retry_after;
  alone.reset_after = verdict.reset_after;
  const ThrottleReply cell = to_throttle_reply(alone);
  return {.limited = verdict.limited,
          .limit = capacity,
          .remaining = verdict.remaining,
          .retry_after_ns = or_never(verdict.retry_after),
          .reset_after_ns = verdict.reset_after.count(),
          .next_in_ns = or_never(verdict.next_after),
          .charged = verdict.charged,
          .five = {cell.begin(), cell.end()}};
}

inline Outcome outcome_of(const Decision& decision) {
  const ThrottleReply cell = to_throttle_reply(decision);
  return {.limited = decision.limited,
          .limit = decision.limit,
          .remaining = decision.remaining,
          .retry_after_ns = or_never(decision.retry_after),
          .reset_after_ns = decision.reset_after.count(),
          .binding = decision.binding,
          .five = {cell.begin(), cell.end()}};
}

// A store with a clock that the vectors set, and its state.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual Store* store() = 0;

  void set_now(std::int64_t now_ns) { now_ns_ = now_ns; }
  std::int64_t now_ns() const { return now_ns_; }

  // The bucket is level 0 of `plan`.  Setting its TAT may change the clock.
  virtual void set_tat(Plan* plan, std::int64_t tat_ns) = 0;
  virtual void expect_no_tat(Plan* plan) = 0;
  virtual void expect_tat(Plan* plan, std::int64_t tat_ns) = 0;

 protected:
  std::int64_t now_ns_ = 0;
};

class StoreRunner {
 public:
  StoreRunner(const json& test, Backend* backend)
      : rule_(test.at("rule")), backend_(backend) {}

  void run(const json& step) {
    const std::string op = step.at("op");
    backend_->set_now(base_ns() + step.value("now_ns", std::int64_t{0}));
    if (op == "set_state") {
      set_state(step.at("key"), base_ns() + step.at("tat_ns").get<int64_t>());
      return;
    }
    if (op == "reset") {
      for (const std::string key : step.at("keys")) reset(key);
    } else {
      decide(op, step);
    }
    expect_state(step.at("expect").at("state_after"));
  }

 private:
  // One Limit for each (key, parameters), as a tree has it.
  Result<const Limit*> limit_of(const json& level) {
    Result<Rate> rate =
        make_rate(level.at("count"), Duration(level.at("period_ns")),
                  level.at("capacity"));
    if (!rate.ok()) return std::move(rate.status());
    const std::string mode = level.value("mode", "enforce");
    json identity = level;
    identity.erase("cost");
    auto [known, is_new] = by_identity_.emplace(identity.dump(), nullptr);
    if (is_new) {
      Limit& limit = limits_.emplace_back();
      limit.rate = rate.value();
      limit.mode = mode == "spend"   ? Mode::kShadow
                   : mode == "check" ? Mode::kCheck
                                     : Mode::kEnforce;
      limit.charge =
          rule_ == "ind" ? Charge::kIndependent : Charge::kAllOrNothing;
      known->second = &limit;
    }
    return known->second;
  }

  void add(Plan* plan, const Limit* limit, const std::string& key,
           std::int64_t cost) {
    const auto first = static_cast<std::uint32_t>(plan->segments.size());
    plan->segments.push_back(
        {*keys_.insert(key).first, Segment::Kind::kCaller});
    plan->add_level(limit, first, 1, cost);
  }

  Status fill(const json& levels, Plan* plan) {
    for (const json& level : levels) {
      if (level.at("cost") < 0) {
        return Status(Code::kInvalidArgument, "negative");  // Limiter's rule
      }
      Result<const Limit*> limit = limit_of(level);
      if (!limit.ok()) return std::move(limit.status());
      add(plan, limit.value(), level.at("key"), level.at("cost"));
    }
    return join_same_buckets(plan);
  }

  void decide(const std::string& op, const json& step) {
    static const std::map<std::string, Operation> kOperations = {
        {"spend", Operation::kAuthorize},
        {"check", Operation::kPeek},
        {"refund", Operation::kRefund}};
    const json& expect = step.at("expect");
    Plan plan(kOperations.at(op));
    const Status filled = fill(step.at("levels"), &plan);
    ASSERT_EQ(filled.ok(), !expect.contains("error")) << expect;
    if (!filled.ok()) return;

    if (!plan.levels.empty()) {
      ASSERT_TRUE(backend_->store()->decide(&plan).ok());
    }
    ASSERT_EQ(plan.levels.size(), expect.at("levels").size());
    for (std::size_t i = 0; i < plan.levels.size(); ++i) {
      const json& expected = expect.at("levels")[i];
      const Level& level = plan.levels[i];
      EXPECT_EQ(
          as_expected(outcome_of(level.verdict, level.limit->rate.capacity),
                      expected),
          expected)
          << "level " << i;
    }
    const json& expected = expect.at("aggregate");
    EXPECT_EQ(as_expected(outcome_of(aggregate(plan)), expected), expected);
  }

  // Uses a plan for one bucket, with any limit.
  void with_bucket(const std::string& key, Operation operation,
                   const std::function<void(Plan*)>& use) {
    Plan plan(operation);
    add(&plan, &any_, key, 1);
    use(&plan);
  }

  void reset(const std::string& key) {
    with_bucket(key, Operation::kRefund, [&](Plan* plan) {
      EXPECT_TRUE(backend_->store()->reset(*plan).ok());
    });
  }

  void set_state(const std::string& key, std::int64_t tat_ns) {
    reset(key);
    with_bucket(key, Operation::kAuthorize,
                [&](Plan* plan) { backend_->set_tat(plan, tat_ns); });
  }

  void expect_state(const json& expected) {
    for (const std::string& key : keys_) {
      SCOPED_TRACE(key);
      with_bucket(key, Operation::kPeek, [&](Plan* plan) {
        if (expected.contains(key)) {
          backend_->expect_tat(plan,
                               base_ns() + expected.at(key).get<int64_t>());
        } else {
          backend_->expect_no_tat(plan);
        }
      });
    }
  }

  const std::string rule_;
  Backend* const backend_;
  std::deque<Limit> limits_;
  std::map<std::string, const Limit*> by_identity_;
  std::set<std::string> keys_;
  const Limit any_ = [] {
    Limit limit;
    // As large as there is: who looks does not mend what a level owes.
    limit.rate = {Duration(1), kMaxBurstOffset.count()};
    return limit;
  }();
};

inline void run_case(const json& test, Backend* backend) {
  StoreRunner runner(test, backend);
  int number = 0;
  for (const json& step : test.at("steps")) {
    SCOPED_TRACE("step " + std::to_string(number++));
    runner.run(step);
  }
}

}  // namespace limitree::conformance
