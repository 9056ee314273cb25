// The vectors of all algorithms, through a limiter over each store.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "conformance/algorithm_runner.hpp"
#include "core/store/memcached/memcached_server.hpp"
#include "core/store/redis/redis_server.hpp"
#include "limiter/limiter.hpp"
#include "limiter/make_store.hpp"
#include "tree/schema.hpp"

namespace limitree::conformance::algorithm_conformance_test {
namespace {

std::int64_t or_never(Duration wait) {
  return wait == kNever ? -1 : wait.count();
}

json to_json(const LevelReport& report) {
  const Verdict& verdict = report.verdict;
  return {{"limited", verdict.limited},
          {"limit", report.capacity},
          {"remaining", verdict.remaining},
          {"retry_after_ns", or_never(verdict.retry_after)},
          {"reset_after_ns", verdict.reset_after.count()},
          {"next_after_ns", or_never(verdict.next_after)},
          {"grows_after_ns", report.grows_after.count()},
          {"charged", verdict.charged},
          {"soft", verdict.soft}};
}

json to_json(const Decision& decision) {
  const ThrottleReply cell = to_throttle_reply(decision);
  return {{"limited", decision.limited},
          {"limit", decision.limit},
          {"remaining", decision.remaining},
          {"retry_after_ns", or_never(decision.retry_after)},
          {"reset_after_ns", decision.reset_after.count()},
          {"next_after_ns", or_never(decision.next_after)},
          {"soft", decision.soft},
          {"binding", decision.binding},
          {"five", cell}};
}

class LimiterRunner {
 public:
  LimiterRunner(const AlgorithmCase& one, const std::string& store)
      : base_ns_(one.base_ns), now_ns_(one.base_ns) {
    Options options;
    options.clock = Clock(
        [](void* now) { return *static_cast<std::int64_t*>(now); }, &now_ns_);
    for (const auto& [name, value] : std::map<std::string, std::string>{
             {"store", store},
             {"timeout", "10s"},
             {"prefix", one.file + one.test->at("id").get<std::string>()}}) {
      if (store.empty()) break;
      EXPECT_TRUE(set_option(name, value, &options).ok());
    }
    const std::string yaml = one.test->at("limits").dump();
    Result<Tree> tree = load_tree(yaml, "vectors");
    if (!tree.ok()) {
      ADD_FAILURE() << tree.status().error().messages.front() << '\n' << yaml;
      return;
    }
    Result<std::unique_ptr<Store>> made = make_store(options);
    EXPECT_TRUE(made.ok());
    limiter_ = std::make_unique<Limiter>(
        std::make_shared<const Tree>(std::move(tree.value())), options,
        std::move(made.value()));
  }

  void run(const json& step) {
    if (limiter_ == nullptr) return;
    const std::string operation = step.at("op");
    now_ns_ = base_ns_ + step.at("now_ns").get<std::int64_t>();
    if (operation == "pressure") {
      limiter_->set_pressure(step.at("millionths"));
      return;
    }
    std::vector<std::string> segments = step.at("path");
    const std::vector<std::string_view> path(segments.begin(), segments.end());
    if (operation == "reset") {
      EXPECT_TRUE(limiter_->reset(path, Forget::kPath).ok());
      return;
    }
    static const std::map<std::string, Operation> kOperations = {
        {"authorize", Operation::kAuthorize},
        {"peek", Operation::kPeek},
        {"spend", Operation::kSpend},
        {"refund", Operation::kRefund}};
    const PathCost path_cost{path, step.at("cost")};
    LevelReports reports;
    Decision decision;
    const Status status = limiter_->decide(
        kOperations.at(operation), {{&path_cost, 1}}, &reports, &decision);
    ASSERT_TRUE(status.ok()) << status.error().messages.front();
    compare(step.at("expect"), reports, decision);
  }

 private:
  void compare(const json& expect, const LevelReports& reports,
               const Decision& decision) {
    ASSERT_EQ(reports.size(), expect.at("levels").size());
    for (std::size_t i = 0; i < reports.size(); ++i) {
      const json& expected = expect.at("levels")[i];
      EXPECT_EQ(of_interest(to_json(reports[i]), expected), expected)
          << "level " << i;
    }
    const json& expected = expect.at("decision");
    EXPECT_EQ(of_interest(to_json(decision), expected), expected);
  }

  const std::int64_t base_ns_;
  std::int64_t now_ns_;
  std::unique_ptr<Limiter> limiter_;
};

void run_case(const AlgorithmCase& one, const std::string& store) {
  LimiterRunner runner(one, store);
  int number = 0;
  for (const json& step : one.test->at("steps")) {
    SCOPED_TRACE("step " + std::to_string(number++) + ": " + step.dump());
    runner.run(step);
    if (testing::Test::HasFailure()) break;  // later steps would fail, too
  }
}

class AlgorithmConformance : public testing::TestWithParam<AlgorithmCase> {};

TEST_P(AlgorithmConformance, Memory) { run_case(GetParam(), ""); }

TEST_P(AlgorithmConformance, Redis) {
  static const redis::RedisServer server;
  run_case(GetParam(), "redis://127.0.0.1:" + std::to_string(server.port()));
}

TEST_P(AlgorithmConformance, Memcached) {
  static const memcached::MemcachedServer server;
  run_case(GetParam(), "memcached://" + server.host());
}

INSTANTIATE_TEST_SUITE_P(Vectors, AlgorithmConformance,
                         testing::ValuesIn(algorithm_cases()),
                         AlgorithmCaseName());

}  // namespace
}  // namespace limitree::conformance::algorithm_conformance_test
