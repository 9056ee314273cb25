// Limits that count other units than requests, in memory and in Redis.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/store/manual_clock.hpp"
#include "core/store/redis/redis_server.hpp"
#include "core/tree/loaded.hpp"
#include "limiter/limiter.hpp"
#include "limiter/make_store.hpp"

namespace limitree {
namespace {

using redis::RedisServer;

constexpr std::string_view kYaml = R"(
schema:
  user:
    children:
      "*":
        limits:
          - {name: rpm, count: 3, period: 1m}
          - {name: tpm, count: 100, period: 1m, unit: tokens}
          - {name: usd, count: 50, period: 1m, unit: cents, cost: 2,
             algorithm: fixed_window}
  ip: {children: {"*": {limits: 2/minute}}}
  plain: {limits: {count: 5, period: 1m, unit: request}}
)";

class UnitsTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    options_.clock = clock_.clock();
    if (std::string_view(GetParam()) == "redis") {
      server_.emplace();
      const std::string url =
          "redis://127.0.0.1:" + std::to_string(server_->port());
      ASSERT_TRUE(set_option("store", url, &options_).ok());
      ASSERT_TRUE(set_option("timeout", "10s", &options_).ok());
    }
    limiter_ = std::make_unique<Limiter>(
        std::make_shared<const Tree>(loaded(kYaml)), options_,
        std::move(make_store(options_).value()));
  }

  // Decides about user alex; returns what is wrong, or nothing.
  std::string ask(std::int64_t requests, std::vector<UnitCost> units,
                  Operation operation = Operation::kAuthorize) {
    const std::vector<std::string_view> path = {"user", "alex"};
    return ask_along(path, requests, units, operation);
  }
  std::string ask_along(Path path, std::int64_t requests,
                        std::span<const UnitCost> units,
                        Operation operation = Operation::kAuthorize) {
    const PathCost path_cost{path, requests};
    const Status status = limiter_->decide(operation, {{&path_cost, 1}, units},
                                           &reports_, &decision_);
    return status.ok() ? "" : status.message();
  }
  std::vector<std::int64_t> remaining() const {
    std::vector<std::int64_t> all;
    for (const LevelReport& level : reports_) {
      all.push_back(level.verdict.remaining);
    }
    return all;
  }

  ManualClock clock_;
  Options options_;
  std::optional<RedisServer> server_;
  std::unique_ptr<Limiter> limiter_;
  LevelReports reports_;
  Decision decision_;
};

using Numbers = std::vector<std::int64_t>;

TEST_P(UnitsTest, EachLimitTakesTheCostInItsUnit) {
  EXPECT_EQ(ask(1, {{"tokens", 60}, {"cents", 10}}), "");
  EXPECT_FALSE(decision_.limited);
  EXPECT_EQ(remaining(), Numbers({2, 40, 30}));
  ASSERT_EQ(reports_.size(), 3u);
  EXPECT_EQ(reports_[0].unit, "request");
  EXPECT_EQ(reports_[1].unit, "tokens");
  EXPECT_EQ(reports_[2].unit, "cents");
  EXPECT_EQ(reports_[1].cost, 60);
  EXPECT_EQ(reports_[2].cost, 20);

  // One unit denies, and none is charged.
  EXPECT_EQ(ask(1, {{"cents", 1}, {"tokens", 41}}), "");
  EXPECT_TRUE(decision_.limited);
  EXPECT_EQ(remaining(), Numbers({2, 40, 30}));
  EXPECT_EQ(ask(0, {{"cents", 0}, {"tokens", 7}}, Operation::kRefund), "");
  EXPECT_EQ(remaining(), Numbers({2, 47, 30}));
}

TEST_P(UnitsTest, AUnitThatIsNotNamedIsAnError) {
  EXPECT_EQ(ask(1, {}), "user:*#tpm counts tokens, and the request names none");
  EXPECT_EQ(ask(1, {{"tokens", 1}}),
            "user:*#usd counts cents, and the request names none");
  EXPECT_EQ(ask(0, {{"tokens", 1}}),
            "user:*#usd counts cents, and the request names none");
  // Nothing was charged.
  EXPECT_EQ(ask(1, {{"tokens", 0}, {"cents", 0}}, Operation::kPeek), "");
  EXPECT_EQ(remaining(), Numbers({2, 100, 50}));
}

TEST_P(UnitsTest, ARequestWithoutAnyCostLooks) {
  EXPECT_EQ(ask(0, {}, Operation::kLook), "");
  EXPECT_EQ(remaining(), Numbers({3, 100, 50}));
  EXPECT_EQ(ask(0, {}), "");
  const std::vector<std::string_view> path = {"user", "alex"};
  EXPECT_TRUE(limiter_->reset(path, Forget::kPath).ok());
}

TEST_P(UnitsTest, RefusesWhatNoLimitCounts) {
  EXPECT_EQ(ask(1, {{"tokens", 1}, {"cents", 1}, {"euro", 1}}),
            "no limit counts \"euro\", they count cents, tokens");
  EXPECT_EQ(ask(1, {{"tokens", -1}, {"cents", 1}}),
            "cost in tokens must not be negative, is -1");
  EXPECT_EQ(ask(1, {{"tokens", 1}, {"cents", 1}, {"tokens", 1}}),
            "tokens is named twice");
  EXPECT_EQ(ask(1, {{"request", 1}, {"tokens", 1}, {"cents", 1}}),
            "the cost in request is that of each path");
  EXPECT_EQ(ask(1, {{"Tokens\n", 1}}),
            "no limit counts \"Tokens\\x0A\", they count cents, tokens");
}

TEST_P(UnitsTest, PathsWithoutTheUnitAreNotConcerned) {
  const std::vector<std::string_view> path = {"ip", "10.0.0.1"};
  const std::vector<UnitCost> units = {{"tokens", 1000}};
  EXPECT_EQ(ask_along(path, 1, units), "");
  EXPECT_EQ(remaining(), Numbers({1}));
  EXPECT_EQ(ask_along(path, 1, {}), "");
  EXPECT_EQ(remaining(), Numbers({0}));
  const std::vector<std::string_view> plain = {"plain"};
  EXPECT_EQ(ask_along(plain, 2, {}), "");
  EXPECT_EQ(remaining(), Numbers({3}));
}

TEST_P(UnitsTest, TheLargestCostSaturates) {
  EXPECT_EQ(ask(1, {{"tokens", INT64_MAX}, {"cents", INT64_MAX}}), "");
  EXPECT_TRUE(decision_.limited);
  EXPECT_EQ(decision_.retry_after, kNever);
  EXPECT_EQ(reports_[2].cost, INT64_MAX);
}

TEST_P(UnitsTest, AReloadChangesTheUnits) {
  ASSERT_TRUE(
      limiter_->reload(loaded("schema: {user: {limits: 3/minute}}")).ok());
  EXPECT_EQ(ask(1, {}), "");
  EXPECT_EQ(ask(1, {{"tokens", 1}}), "no limit counts \"tokens\"");
}

INSTANTIATE_TEST_SUITE_P(Stores, UnitsTest, testing::Values("memory", "redis"),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace limitree
