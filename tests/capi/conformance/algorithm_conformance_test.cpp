// The vectors of all algorithms again, through limitree.h alone.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "conformance/algorithm_runner.hpp"
#include "limitree.h"

namespace limitree::conformance::algorithm_conformance_test {
namespace {

std::int64_t read_clock(void* now) { return *static_cast<std::int64_t*>(now); }

limitree_str str(const std::string& text) { return {text.data(), text.size()}; }

std::int64_t or_never(std::int64_t wait) {
  return wait == LIMITREE_NEVER ? -1 : wait;
}

json to_json(const limitree_level& level) {
  return {{"limited", level.limited == 1},
          {"limit", level.limit},
          {"remaining", level.remaining},
          {"retry_after_ns", or_never(level.retry_after_ns)},
          {"reset_after_ns", level.reset_after_ns},
          {"next_after_ns", or_never(level.next_after_ns)},
          {"grows_after_ns", level.grows_after_ns},
          {"charged", level.charged == 1},
          {"soft", level.soft == 1}};
}

json to_json(const limitree_decision& decision) {
  std::int64_t cell[5];
  limitree_decision_cell(&decision, cell);
  return {{"limited", decision.limited == 1},
          {"limit", decision.limit},
          {"remaining", decision.remaining},
          {"retry_after_ns", or_never(decision.retry_after_ns)},
          {"reset_after_ns", decision.reset_after_ns},
          {"next_after_ns", or_never(decision.next_after_ns)},
          {"soft", (decision.flags & LIMITREE_SOFT) != 0},
          {"binding", decision.level},
          {"five", cell}};
}

class CapiRunner {
 public:
  explicit CapiRunner(const AlgorithmCase& one)
      : base_ns_(one.base_ns), now_ns_(one.base_ns) {
    std::unique_ptr<limitree_config, void (*)(limitree_config*)> config(
        limitree_config_new(), limitree_config_free);
    const std::string yaml = one.test->at("limits").dump();
    EXPECT_EQ(limitree_config_set_limits(config.get(), str(yaml), str("vector"),
                                         nullptr),
              LIMITREE_OK);
    EXPECT_EQ(
        limitree_config_set_clock(config.get(), read_clock, &now_ns_, nullptr),
        LIMITREE_OK);
    EXPECT_EQ(limitree_limiter_new(config.get(), &limiter_, nullptr),
              LIMITREE_OK);
  }
  ~CapiRunner() { limitree_limiter_free(limiter_); }

  void run(const json& step) {
    static const std::map<std::string, std::int32_t> kOperations = {
        {"authorize", LIMITREE_AUTHORIZE},
        {"peek", LIMITREE_PEEK},
        {"spend", LIMITREE_SPEND},
        {"refund", LIMITREE_REFUND}};
    const std::string operation = step.at("op");
    now_ns_ = base_ns_ + step.at("now_ns").get<std::int64_t>();
    if (operation == "pressure") {
      EXPECT_EQ(
          limitree_set_pressure(
              limiter_, step.at("millionths").get<double>() / 1e6, nullptr),
          LIMITREE_OK);
      return;
    }
    const std::vector<std::string> names = step.at("path");
    std::vector<limitree_str> segments;
    for (const std::string& name : names) segments.push_back(str(name));
    if (operation == "reset") {
      EXPECT_EQ(limitree_reset(limiter_, segments.data(), segments.size(), 0,
                               nullptr),
                LIMITREE_OK);
      return;
    }
    const limitree_path path = {segments.data(), segments.size(),
                                step.at("cost"), LIMITREE_PART_CHARGE};
    std::vector<limitree_level> levels(16);
    limitree_decision decision{};
    ASSERT_EQ(limitree_decide(limiter_, kOperations.at(operation), &path, 1,
                              levels.data(), levels.size(), &decision, nullptr),
              LIMITREE_OK);
    const json& expect = step.at("expect");
    ASSERT_EQ(static_cast<std::size_t>(decision.level_count),
              expect.at("levels").size());
    for (std::size_t i = 0; i < expect.at("levels").size(); ++i) {
      const json& expected = expect.at("levels")[i];
      EXPECT_EQ(of_interest(to_json(levels[i]), expected), expected);
    }
    EXPECT_EQ(of_interest(to_json(decision), expect.at("decision")),
              expect.at("decision"));
  }

 private:
  const std::int64_t base_ns_;
  std::int64_t now_ns_;
  limitree_limiter* limiter_ = nullptr;
};

class CapiAlgorithmConformance : public testing::TestWithParam<AlgorithmCase> {
};

TEST_P(CapiAlgorithmConformance, Case) {
  CapiRunner runner(GetParam());
  int number = 0;
  for (const json& step : GetParam().test->at("steps")) {
    SCOPED_TRACE("step " + std::to_string(number++) + ": " + step.dump());
    runner.run(step);
    if (HasFailure()) break;
  }
}

INSTANTIATE_TEST_SUITE_P(Vectors, CapiAlgorithmConformance,
                         testing::ValuesIn(algorithm_cases()),
                         AlgorithmCaseName());

}  // namespace
}  // namespace limitree::conformance::algorithm_conformance_test
