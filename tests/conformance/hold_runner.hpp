// Runs the vectors of holds.json through the store interface, and compares what
// is stored with what a bucket of that state answers.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/held_bucket.hpp"
#include "conformance/store_runner.hpp"

namespace limitree::conformance {

inline const json& hold_vectors() {
  static const json file = [] {
    std::ifstream in(LIMITREE_CONFORMANCE "/holds.json");
    if (!in) throw std::runtime_error("holds.json is missing");
    return json::parse(in);
  }();
  return file;
}

// Windows are whole microseconds, which limits.yaml checks.
inline bool has_whole_windows(const json& test) {
  for (const json& step : test.at("steps")) {
    for (const json& level : step.value("levels", json::array())) {
      if (level.value("kind", "gcra") == "fixed_window" &&
          level.at("period_ns").get<std::int64_t>() % 1000 != 0) {
        return false;
      }
    }
  }
  return true;
}

inline std::vector<Case> hold_cases() {
  std::vector<Case> all;
  for (const json& test : hold_vectors().at("cases")) {
    if (has_whole_windows(test)) all.push_back({&test});
  }
  return all;
}

class HoldRunner {
 public:
  // *clock is what the store reads as the time.
  HoldRunner(Store* store, std::int64_t* clock)
      : store_(*store), clock_(*clock) {}

  void run(const json& test) {
    int number = 0;
    for (const json& step : test.at("steps")) {
      SCOPED_TRACE("step " + std::to_string(number++));
      clock_ = base() + step.at("now_ns").get<std::int64_t>();
      const std::string op = step.at("op");
      if (op == "reset") {
        for (const std::string key : step.at("keys")) reset(key);
      } else {
        decide(op, step);
      }
      expect_state(step.at("expect").at("state_after"));
    }
  }

 private:
  static std::int64_t base() { return hold_vectors().at("base_ns"); }

  static Limit made(const json& level) {
    const std::string kind = level.value("kind", "gcra");
    const std::string mode = level.value("mode", "enforce");
    Limit limit;
    auto rules = std::make_shared<Rules>();
    rules->hold = Duration(level.value("hold_ns", std::int64_t{0}));
    rules->frees =
        kind == "concurrent" || level.value("unsettled", "charge") == "free";
    limit.rate.capacity = level.at("capacity");
    limit.rate.emission_interval = Duration(1);
    limit.period = rules->hold;
    if (kind != "concurrent") {
      limit.period = Duration(level.at("period_ns"));
      limit.rate =
          make_rate(level.at("count"), limit.period, level.at("capacity"))
              .value();
    }
    limit.algorithm = kind == "gcra"           ? Algorithm::kGcra
                      : kind == "fixed_window" ? Algorithm::kFixedWindow
                                               : Algorithm::kConcurrent;
    limit.cost = level.value("cost", std::int64_t{1});
    limit.mode = mode == "shadow"  ? Mode::kShadow
                 : mode == "check" ? Mode::kCheck
                                   : Mode::kEnforce;
    limit.suffix = traits_of(limit.algorithm).suffix;
    if (kind != "gcra" || rules->hold > Duration::zero()) {
      limit.rules = std::move(rules);
    }
    return limit;
  }

  // One Limit for each (key, parameters), as a tree has it.
  const Limit* limit_of(const json& level) {
    const auto [known, is_new] = by_text_.emplace(level.dump(), nullptr);
    if (is_new) known->second = &limits_.emplace_back(made(level));
    last_[level.at("key")] = known->second;
    return known->second;
  }

  void add(Plan* plan, const Limit* limit, const std::string& key,
           std::int64_t cost) {
    const auto first = static_cast<std::uint32_t>(plan->segments.size());
    const auto name = last_.find(key);
    plan->segments.push_back({name->first, Segment::Kind::kCaller});
    plan->add_level(limit, first, 1, cost);
  }

  static std::int64_t cost_of(const json& level, const json& units,
                              bool settles) {
    const std::string unit = level.value("unit", "request");
    if (settles && !units.contains(unit)) return kAsHeld;
    return units.at(unit).get<std::int64_t>() *
           level.value("cost", std::int64_t{1});
  }

  void decide(const std::string& op, const json& step) {
    static const std::map<std::string, Operation> kOperations = {
        {"reserve", Operation::kReserve},
        {"authorize", Operation::kAuthorize},
        {"peek", Operation::kPeek},
        {"settle", Operation::kSettle},
        {"extend", Operation::kExtend}};
    const json& expect = step.at("expect");
    Plan plan(kOperations.at(op));
    const bool about = is_about_hold(plan.operation);
    plan.reservation.id = {7, step.value("id", std::uint64_t{0})};
    plan.reservation.hold = Duration(step.value("hold_ns", std::int64_t{0}));
    const json units = step.value("units", json::object());
    for (const json& level : step.at("levels")) {
      const Limit* const limit = limit_of(level);
      if (about && !limit->holds()) continue;
      const std::int64_t cost =
          op == "extend" ? 0 : cost_of(level, units, about);
      add(&plan, limit, level.at("key"), cost);
    }
    if (!plan.levels.empty()) {
      const Status status = store_.decide(&plan);
      ASSERT_TRUE(status.ok()) << status.message();
    }
    if (about) {
      std::int64_t found = 0;
      for (const Level& level : plan.levels) found += level.verdict.charged;
      EXPECT_EQ(found, expect.at(op == "settle" ? "settled" : "extended"));
      return;
    }
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

  void reset(const std::string& key) {
    if (!last_.contains(key)) return;
    Plan plan(Operation::kRefund);
    add(&plan, last_.at(key), key, 0);
    EXPECT_TRUE(store_.reset(plan).ok());
  }

  // Asks for nothing, and compares the answer with that of the state.
  void expect_state(const json& expected) {
    for (const auto& [key, limit] : last_) {
      SCOPED_TRACE(key);
      Plan plan(Operation::kLook);
      add(&plan, limit, key, 0);
      ASSERT_TRUE(store_.decide(&plan).ok());
      const Verdict& verdict = plan.levels[0].verdict;
      const json state = expected.value(key, json::object());
      const Verdict wanted = verdict_of(state, *limit);
      EXPECT_EQ(verdict.remaining, wanted.remaining) << state;
      EXPECT_EQ(verdict.reset_after, wanted.reset_after) << state;
    }
  }

  Verdict verdict_of(const json& state, const Limit& limit) const {
    const Instant now{Duration(clock_)};
    const auto at = [](std::int64_t offset) {
      return Instant(Duration(base() + offset));
    };
    HeldState stored;
    if (state.contains("tat_ns")) stored.tat = at(state.at("tat_ns"));
    if (state.contains("used")) {
      stored.window = {at(state.at("window_start_ns")), state.at("used")};
    }
    if (limit.is_plain()) {
      const Duration debt = std::max(stored.tat, now) - now;
      return verdict(limit.rate, probe(limit.rate, debt, 0), debt);
    }
    std::vector<Hold> holds;
    const json held = state.value("holds", json::object());
    for (const auto& [id, hold] : held.items()) {
      holds.push_back({{7, std::stoull(id)}, at(hold[1]), hold[0]});
    }
    std::ranges::sort(holds, ends_before);
    HoldView view;
    view.holds = holds.data();
    view.end = view.count = static_cast<std::uint32_t>(holds.size());
    for (const Hold& hold : holds) view.units += hold.units;
    const HeldBucket bucket(limit, stored, view, now);
    Verdict verdict{};
    verdict.remaining =
        std::max(limit.rate.capacity - bucket.used(), std::int64_t{0});
    verdict.reset_after = wait_until(bucket.until(0), now);
    return verdict;
  }

  Store& store_;
  std::int64_t& clock_;
  std::deque<Limit> limits_;
  std::map<std::string, const Limit*> by_text_;
  std::map<std::string, const Limit*> last_;  // of each key
};

}  // namespace limitree::conformance
