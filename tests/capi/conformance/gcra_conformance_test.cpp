// The vectors again, through limitree.h alone.
//
// Each step reloads a limits.yaml in which every key is a top-level name, and
// asks for all of them in one request.

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "conformance/vectors.hpp"
#include "limitree.h"

namespace limitree::conformance::gcra_conformance_test {
namespace {

std::int64_t read_clock(void* now) { return *static_cast<std::int64_t*>(now); }

limitree_str str(const std::string& text) { return {text.data(), text.size()}; }

std::int64_t or_never(std::int64_t wait) {
  return wait == LIMITREE_NEVER ? -1 : wait;
}

std::vector<std::int64_t> five_of(const limitree_decision& decision) {
  std::vector<std::int64_t> cell(5);
  limitree_decision_cell(&decision, cell.data());
  return cell;
}

Outcome outcome_of(const limitree_level& level) {
  limitree_decision alone{};
  alone.limited = level.limited;
  alone.limit = level.limit;
  alone.remaining = level.remaining;
  alone.retry_after_ns = level.retry_after_ns;
  alone.reset_after_ns = level.reset_after_ns;
  return {.limited = level.limited,
          .limit = level.limit,
          .remaining = level.remaining,
          .retry_after_ns = or_never(level.retry_after_ns),
          .reset_after_ns = level.reset_after_ns,
          .next_in_ns = or_never(level.next_after_ns),
          .charged = level.charged,
          .five = five_of(alone)};
}

Outcome outcome_of(const limitree_decision& decision) {
  return {.limited = decision.limited,
          .limit = decision.limit,
          .remaining = decision.remaining,
          .retry_after_ns = or_never(decision.retry_after_ns),
          .reset_after_ns = decision.reset_after_ns,
          .binding = decision.level,
          .five = five_of(decision)};
}

class CapiRunner {
 public:
  explicit CapiRunner(const json& test) : rule_(test.at("rule")) {
    std::unique_ptr<limitree_config, void (*)(limitree_config*)> config(
        limitree_config_new(), limitree_config_free);
    EXPECT_EQ(
        limitree_config_set_clock(config.get(), read_clock, &now_ns_, nullptr),
        LIMITREE_OK);
    EXPECT_EQ(limitree_limiter_new(config.get(), &limiter_, nullptr),
              LIMITREE_OK);
  }
  ~CapiRunner() { limitree_limiter_free(limiter_); }

  void run(const json& step) {
    const std::string op = step.at("op");
    now_ns_ = base_ns() + step.value("now_ns", std::int64_t{0});
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
  limitree_status reload(const std::string& roots) {
    const std::string yaml = "schema:\n" + roots;
    return limitree_limiter_reload(limiter_, str(yaml), str("test"), nullptr);
  }

  std::string root(const json& level) const {
    const std::string mode = level.value("mode", "enforce");
    std::ostringstream yaml;
    yaml << "  " << level.at("key")
         << ": {charge: " << (rule_ == "ind" ? "independent" : "all_or_nothing")
         << ", limits: {burst: " << level.at("capacity")
         << ", count: " << level.at("count")
         << ", period: " << level.at("period_ns")
         << "ns, mode: " << (mode == "spend" ? "shadow" : mode) << "}}\n";
    return yaml.str();
  }

  // Reloads only `key`, with a bucket that fills in `period`.
  void reload_alone(const std::string& key, const char* period) {
    ASSERT_EQ(reload("  " + json(key).dump() + ": {limits: {burst: 1, count: " +
                     "1, period: " + period + "}}\n"),
              LIMITREE_OK);
  }

  void decide(const std::string& op, const json& step) {
    static const std::map<std::string, std::int32_t> kOperations = {
        {"spend", LIMITREE_AUTHORIZE},
        {"check", LIMITREE_PEEK},
        {"refund", LIMITREE_REFUND}};
    const json& expect = step.at("expect");
    std::set<std::string> roots;
    std::vector<limitree_str> segments;
    for (const json& level : step.at("levels")) {
      roots.insert(root(level));
      segments.push_back(
          str(*keys_.insert(level.at("key").get<std::string>()).first));
    }
    std::string yaml;
    for (const std::string& text : roots) yaml += text;
    std::vector<limitree_path> paths;
    for (std::size_t i = 0; i < segments.size(); ++i) {
      paths.push_back({&segments[i], 1, step.at("levels")[i].at("cost"),
                       LIMITREE_PART_CHARGE});
    }
    // A request needs a path, so this one has no limits.
    const limitree_str free = {"free", 4};
    if (paths.empty()) {
      yaml = "  free: {}\n";
      paths.push_back({&free, 1, 1, LIMITREE_PART_CHARGE});
    }

    limitree_status status = reload(yaml);
    limitree_decision decision{};
    std::vector<limitree_level> levels(segments.size() + 1);
    if (status == LIMITREE_OK) {
      status = limitree_decide(limiter_, kOperations.at(op), paths.data(),
                               paths.size(), levels.data(), levels.size(),
                               &decision, nullptr);
    }
    ASSERT_EQ(status == LIMITREE_OK, !expect.contains("error")) << expect;
    if (status != LIMITREE_OK) return;

    ASSERT_EQ(static_cast<std::size_t>(decision.level_count),
              expect.at("levels").size());
    for (std::size_t i = 0; i < expect.at("levels").size(); ++i) {
      const json& expected = expect.at("levels")[i];
      EXPECT_EQ(as_expected(outcome_of(levels[i]), expected), expected)
          << "level " << i;
    }
    const json& expected = expect.at("aggregate");
    EXPECT_EQ(as_expected(outcome_of(decision), expected), expected);
  }

  std::int64_t debt_ns(const std::string& key) {
    reload_alone(key, "36525d");
    const limitree_str segment = str(key);
    limitree_decision decision{};
    EXPECT_EQ(limitree_peek(limiter_, &segment, 1, 0, &decision, nullptr),
              LIMITREE_OK);
    return decision.reset_after_ns;
  }

  void reset(const std::string& key) {
    reload_alone(key, "1ns");
    const limitree_str segment = str(key);
    EXPECT_EQ(limitree_reset(limiter_, &segment, 1, 0, nullptr), LIMITREE_OK);
  }

  // Charges a fresh bucket one nanosecond's worth, just before the TAT.
  void set_state(const std::string& key, std::int64_t tat_ns) {
    reset(key);
    now_ns_ = tat_ns - 1;
    const limitree_str segment = str(key);
    limitree_decision decision{};
    EXPECT_EQ(limitree_authorize(limiter_, &segment, 1, 1, &decision, nullptr),
              LIMITREE_OK);
  }

  void expect_state(const json& expected) {
    for (const std::string& key : keys_) {
      std::int64_t due = 0;  // a bucket whose TAT has passed may be gone
      if (expected.contains(key)) {
        due = base_ns() + expected.at(key).get<int64_t>() - now_ns_;
      }
      EXPECT_EQ(debt_ns(key), std::max(due, std::int64_t{0})) << key;
    }
  }

  const std::string rule_;
  std::int64_t now_ns_ = 0;
  limitree_limiter* limiter_ = nullptr;
  std::set<std::string> keys_;
};

class CapiConformance : public testing::TestWithParam<Case> {};

TEST_P(CapiConformance, Case) {
  const json& test = *GetParam().test;
  CapiRunner runner(test);
  int number = 0;
  for (const json& step : test.at("steps")) {
    SCOPED_TRACE("step " + std::to_string(number++));
    runner.run(step);
  }
}

INSTANTIATE_TEST_SUITE_P(Gcra, CapiConformance, testing::ValuesIn(cases()),
                         CaseName());

}  // namespace
}  // namespace limitree::conformance::gcra_conformance_test
