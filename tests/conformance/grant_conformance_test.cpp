// The vectors of grants, which take units for later, in each store.

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/decision.hpp"
#include "base/judge.hpp"
#include "conformance/algorithm_runner.hpp"
#include "core/store/memcached/memcached_server.hpp"
#include "core/store/redis/redis_server.hpp"
#include "core/store/temporary_folder.hpp"
#include "core/tree/loaded.hpp"
#include "limiter/make_store.hpp"

namespace limitree::conformance::grant_conformance_test {
namespace {

const json& grants() {
  static const json file = [] {
    std::ifstream in(LIMITREE_CONFORMANCE "/grants.json");
    if (!in) throw std::runtime_error("grants.json is missing");
    return json::parse(in);
  }();
  return file;
}

std::vector<AlgorithmCase> grant_cases() {
  std::vector<AlgorithmCase> all;
  for (const json& test : grants().at("cases")) {
    all.push_back({"grants", &test, grants().at("base_ns")});
  }
  return all;
}

std::int64_t or_none(Duration wait) {
  return wait == kNever ? -1 : wait.count();
}

json outcome(const Level& level) {
  const Verdict& verdict = level.verdict;
  return {{"limited", verdict.limited},
          {"limit", level.limit->rate.capacity},
          {"remaining", verdict.remaining},
          {"retry_after_ns", or_none(verdict.retry_after)},
          {"reset_after_ns", verdict.reset_after.count()},
          {"next_after_ns", or_none(verdict.next_after)},
          {"grows_after_ns", grows_after(level).count()},
          {"charged", verdict.charged},
          {"soft", verdict.soft}};
}

// Asks the store itself, as what leases in front of it does.
class GrantRunner {
 public:
  GrantRunner(const AlgorithmCase& one, const std::string& url)
      : base_ns_(one.base_ns), tree_(loaded(one.test->at("limits").dump())) {
    Options options;
    options.clock = Clock(
        [](void* now) { return *static_cast<std::int64_t*>(now); }, &now_ns_);
    std::map<std::string, std::string> set = {
        {"store", url},
        {"timeout", "10s"},
        {"leases", "off"},
        {"deny_cache", "off"}};  // it does not know what is leased
    if (url.find("://127") != std::string::npos) {
      set["prefix"] = one.test->at("id");
    }
    for (const auto& [name, value] : set) {
      EXPECT_TRUE(set_option(name, value, &options).ok()) << name;
    }
    store_ = std::move(make_store(options).value());
  }

  void run(const json& step) {
    now_ns_ = base_ns_ + step.at("now_ns").get<std::int64_t>();
    const std::string operation = step.at("op");
    static const std::map<std::string, Operation> kOperations = {
        {"authorize", Operation::kAuthorize}, {"lease", Operation::kAuthorize},
        {"peek", Operation::kPeek},           {"spend", Operation::kSpend},
        {"refund", Operation::kRefund},       {"reset", Operation::kRefund}};
    const std::vector<std::string> segments = step.at("path");
    const std::vector<std::string_view> path(segments.begin(), segments.end());
    Plan plan(kOperations.at(operation));
    plan.wants_growth = true;
    ASSERT_TRUE(tree_.match(path, step.at("cost"), &plan).ok());
    if (operation == "reset") {
      EXPECT_TRUE(store_->reset(plan).ok());
      return;
    }
    if (operation == "lease") {
      plan.lease.most = step.at("most");
      plan.lease.parts = step.at("parts");
    }
    const Status status = store_->decide(&plan);
    ASSERT_TRUE(status.ok()) << status.message();
    compare(step.at("expect"), plan);
  }

 private:
  static void compare(const json& expect, const Plan& plan) {
    EXPECT_EQ(plan.lease.granted, expect.value("granted", std::int64_t{0}));
    ASSERT_EQ(plan.levels.size(), expect.at("levels").size());
    for (std::size_t i = 0; i < plan.levels.size(); ++i) {
      const json& expected = expect.at("levels")[i];
      EXPECT_EQ(of_interest(outcome(plan.levels[i]), expected), expected)
          << "level " << i;
    }
    const Decision decision = aggregate(plan);
    EXPECT_EQ(decision.limited, expect.at("decision").at("limited"));
    EXPECT_EQ(decision.remaining, expect.at("decision").at("remaining"));
  }

  const std::int64_t base_ns_;
  std::int64_t now_ns_ = base_ns_;
  const Tree tree_;
  std::unique_ptr<Store> store_;
};

void run_grants(const AlgorithmCase& one, const std::string& url) {
  GrantRunner runner(one, url);
  int number = 0;
  for (const json& step : one.test->at("steps")) {
    SCOPED_TRACE("step " + std::to_string(number++) + ": " + step.dump());
    runner.run(step);
    if (testing::Test::HasFailure()) break;  // later steps would fail, too
  }
}

class GrantConformance : public testing::TestWithParam<AlgorithmCase> {};

TEST_P(GrantConformance, Memory) { run_grants(GetParam(), "memory://"); }

TEST_P(GrantConformance, Shared) {
  const TemporaryFolder folder("grants");
  run_grants(GetParam(), "shm://" + folder.path() + "/limits?max_buckets=1000");
}

TEST_P(GrantConformance, Redis) {
  static const redis::RedisServer server;
  run_grants(GetParam(), "redis://127.0.0.1:" + std::to_string(server.port()));
}

TEST_P(GrantConformance, Memcached) {
  static const memcached::MemcachedServer server;
  run_grants(GetParam(), "memcached://" + server.host());
}

INSTANTIATE_TEST_SUITE_P(Vectors, GrantConformance,
                         testing::ValuesIn(grant_cases()), AlgorithmCaseName());

}  // namespace
}  // namespace limitree::conformance::grant_conformance_test
