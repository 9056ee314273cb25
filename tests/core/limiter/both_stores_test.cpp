// The promises of a limiter from end to end, in memory and in Redis: costs of
// levels, overrides that come with a reload, and costs that are reserved and
// then settled.

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

std::shared_ptr<const Tree> shared(std::string_view yaml,
                                   const Files& files = {}) {
  return std::make_shared<const Tree>(loaded(yaml, files));
}

class BothStores : public testing::TestWithParam<const char*> {
 protected:
  static void TearDownTestSuite() {
    delete server_;
    server_ = nullptr;
  }

  void SetUp() override {
    options_.clock = clock_.clock();
    if (std::string_view(GetParam()) == "memory") return;
    // Not in SetUpTestSuite(): tests whose suite cannot be set up skip
    // themselves, and a server that does not start is a failure.
    if (server_ == nullptr) server_ = new RedisServer;
    const std::string test =
        testing::UnitTest::GetInstance()->current_test_info()->name();
    for (const auto& [name, value] :
         {std::pair<const char*, std::string>{
              "store", "redis://127.0.0.1:" + std::to_string(server_->port())},
          {"timeout", "10s"},
          {"prefix", test + ":"}}) {
      ASSERT_TRUE(set_option(name, value, &options_).ok());
    }
  }

  Limiter& load(std::shared_ptr<const Tree> tree) {
    if (limiter_ == nullptr) {
      limiter_ = std::make_unique<Limiter>(
          std::move(tree), options_, std::move(make_store(options_).value()));
    } else {
      EXPECT_TRUE(limiter_->reload(*tree).ok());
    }
    return *limiter_;
  }

  Decision decide(const std::vector<std::string_view>& path,
                  std::int64_t cost = 1,
                  Operation operation = Operation::kAuthorize) {
    const PathCost path_cost{path, cost};
    Decision decision;
    const Status status =
        limiter_->decide(operation, {{&path_cost, 1}}, nullptr, &decision);
    EXPECT_TRUE(status.ok()) << status.error().messages[0];
    return decision;
  }

  std::int64_t left(const std::vector<std::string_view>& path) {
    return decide(path, 0, Operation::kPeek).remaining;
  }

  ManualClock clock_;
  Options options_;
  std::unique_ptr<Limiter> limiter_;

 private:
  static inline RedisServer* server_ = nullptr;
};

TEST_P(BothStores, ALevelCostsWhatItSays) {
  load(shared(R"(
schema:
  user:
    children:
      "*":
        limits: {count: 10, period: 1h}
        children:
          read: {limits: {count: 10, period: 1h, cost: 0}}
          write: {limits: {count: 10, period: 1h, cost: 2}}
)"));
  // Five writes of two tokens each; the sixth fits alex, but not alex's writes.
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(decide({"user", "alex", "write"}).limited) << i;
  }
  const Decision sixth = decide({"user", "alex", "write"});
  EXPECT_TRUE(sixth.limited);
  EXPECT_EQ(sixth.limit, 10);
  EXPECT_EQ(sixth.remaining, 0);
  EXPECT_EQ(sixth.retry_after, std::chrono::minutes(12));  // two tokens
  EXPECT_EQ(left({"user", "alex"}), 5);
  // The cost of a request is multiplied: three are six.
  EXPECT_FALSE(decide({"user", "bob", "write"}, 3).limited);
  EXPECT_EQ(left({"user", "bob", "write"}), 4);
  EXPECT_EQ(decide({"user", "bob", "write"}, 6).retry_after, kNever);
  // A level of cost 0 never denies and keeps nothing.
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(decide({"user", "alex", "read"}).limited) << i;
  }
  EXPECT_TRUE(decide({"user", "alex", "read"}).limited);  // by alex's own
  EXPECT_FALSE(decide({"user", "carol", "read"}, 10).limited);
}

// First in limits.yaml, then in a file next to it, and then not at all.
TEST_P(BothStores, ACallerWhoGetsAnOverrideKeepsHisDebt) {
  constexpr std::string_view kBefore =
      "schema: {user: {children: {\"*\": {limits: {count: 10, period: 10h}}}}}";
  load(shared(kBefore));
  EXPECT_FALSE(decide({"user", "alex"}, 8).limited);  // owes eight hours
  EXPECT_EQ(left({"user", "alex"}), 2);

  load(
      shared("schema: {user: {children: {\"*\": {limits: {count: 10, period: "
             "10h}}, alex: {limits: {count: 20, period: 10h}}}}}"));
  EXPECT_EQ(left({"user", "alex"}), 4);  // of twenty, at two an hour
  EXPECT_FALSE(decide({"user", "alex"}, 4).limited);
  EXPECT_TRUE(decide({"user", "alex"}).limited);

  load(
      shared("schema: {user: {overrides: f.csv, children: {\"*\": {limits: "
             "{count: 10, period: 10h}}}}}",
             {{"f.csv", "id,count,period,burst\nalex,10,10h,15\n"}}));
  EXPECT_EQ(left({"user", "alex"}), 5);  // owes ten hours of fifteen
  EXPECT_FALSE(decide({"user", "alex"}, 5).limited);

  load(shared(kBefore));
  // A debt beyond the capacity counts as a debt of all of it.
  EXPECT_EQ(left({"user", "alex"}), 0);
  EXPECT_TRUE(decide({"user", "alex"}).limited);
  clock_.advance(std::chrono::hours(15));
  EXPECT_EQ(left({"user", "alex"}), 10);
}

// A reload of a file with a mistake changes nothing.
TEST_P(BothStores, AMistakeInAFileLosesNothing) {
  constexpr std::string_view kYaml =
      "schema: {user: {overrides: f.csv, children: {\"*\": {limits: 5/h}}}}";
  load(shared(kYaml, {{"f.csv", "id,limits\nalex,7/h\n"}}));
  EXPECT_FALSE(decide({"user", "alex"}, 6).limited);
  EXPECT_EQ(
      mistakes(kYaml, {{"f.csv", "id,limits\nalex,9/h\nbob,-1/h\n"}}),
      (Strings{"f.csv:3:5: count must be greater than 0, is -1, in \"-1/h\""}));
  EXPECT_EQ(left({"user", "alex"}), 1);
  load(shared(kYaml, {{"f.csv", "id,limits\nalex,9/h\n"}}));
  EXPECT_EQ(left({"user", "bob"}), 5);
  EXPECT_EQ(decide({"user", "alex"}, 0, Operation::kPeek).limit, 9);
}

// Reserve an estimate, settle the difference.
TEST_P(BothStores, SettlesWhatWasReserved) {
  load(
      shared("schema: {tokens: {children: {\"*\": {limits: {count: 1000, "
             "period: 1h}}}}}"));
  EXPECT_FALSE(decide({"tokens", "alex"}, 500).limited);
  decide({"tokens", "alex"}, 500 - 120, Operation::kRefund);  // took 120
  EXPECT_EQ(left({"tokens", "alex"}), 880);
  EXPECT_FALSE(decide({"tokens", "alex"}, 500).limited);
  decide({"tokens", "alex"}, 740 - 500, Operation::kSpend);  // took 740
  EXPECT_EQ(left({"tokens", "alex"}), 140);
  EXPECT_TRUE(decide({"tokens", "alex"}, 500).limited);
  EXPECT_EQ(left({"tokens", "alex"}), 140);
}

INSTANTIATE_TEST_SUITE_P(Stores, BothStores, testing::Values("memory", "redis"),
                         [](const auto& store) {
                           return std::string(store.param);
                         });

}  // namespace
}  // namespace limitree
