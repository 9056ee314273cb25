// A limiter whose store fails, and the stores in front of that store.

#include <gtest/gtest.h>

#include <chrono>

#include "core/store/fake_store.hpp"
#include "limiter/limiter.hpp"
#include "limiter/make_store.hpp"
#include "tree/schema.hpp"

namespace limitree {
namespace {

constexpr std::string_view kYaml = R"(
schema:
  user:
    children:
      "*":
        limits: {burst: 16, count: 16, period: 16s}
        children:
          trade: {limits: {burst: 4, count: 4, period: 4s}}
)";

std::shared_ptr<const Tree> tree_of(std::string_view yaml) {
  Result<Tree> tree = load_tree(yaml, "test.yaml");
  EXPECT_TRUE(tree.ok());
  return std::make_shared<const Tree>(std::move(tree.value()));
}

class FallbackTest : public testing::Test {
 protected:
  void make() {
    options.clock = clock.clock();
    store = new FakeStore(&clock);
    limiter.emplace(tree_of(kYaml), options,
                    behind_guards(std::unique_ptr<Store>(store), options));
  }

  Decision decide(std::int64_t cost = 1,
                  Operation operation = Operation::kAuthorize) {
    const std::vector<std::string_view> path = {"user", "alex", "trade"};
    const PathCost path_cost{path, cost};
    Decision decision;
    EXPECT_TRUE(
        limiter->decide(operation, {{&path_cost, 1}}, &reports, &decision)
            .ok());
    return decision;
  }

  ManualClock clock;
  Options options;
  FakeStore* store = nullptr;
  std::optional<Limiter> limiter;
  LevelReports reports;
};

TEST_F(FallbackTest, DecidesByItsShareOfEveryLimit) {
  options.on_store_error = OnStoreError::kLocal;
  options.local_share = {1, 2};
  make();
  EXPECT_EQ(decide().limit, 4);
  store->fail(Code::kStoreUnavailable);
  const Decision first = decide();
  EXPECT_EQ(first.source, Source::kLocal);
  EXPECT_EQ(first.limit, 2);
  EXPECT_EQ(first.remaining, 1);
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].policy, "user:*");
  EXPECT_EQ(reports[0].capacity, 8);
  EXPECT_EQ(reports[0].window, std::chrono::seconds(16));
  EXPECT_EQ(reports[1].policy, "user:*/trade");
  EXPECT_EQ(reports[1].capacity, 2);
  EXPECT_EQ(reports[1].window, std::chrono::seconds(4));
  EXPECT_FALSE(decide().limited);
  EXPECT_TRUE(decide().limited);
  store->failure = Status();
  EXPECT_EQ(decide().limit, 4);
}

TEST_F(FallbackTest, TakesItsShareOfANewTree) {
  options.on_store_error = OnStoreError::kLocal;
  options.local_share = {1, 4};
  make();
  store->fail(Code::kStoreUnavailable);
  EXPECT_EQ(decide().limit, 1);
  const auto wider = tree_of(R"(
schema: {user: {children: {"*": {children: {trade: {limits: 8/day}}}}}})");
  ASSERT_TRUE(limiter->reload(*wider).ok());
  EXPECT_EQ(decide().limit, 2);
}

TEST_F(FallbackTest, AReloadForgetsDenials) {
  make();
  while (!decide().limited) continue;
  EXPECT_EQ(decide().source, Source::kDenyCache);
  ASSERT_TRUE(limiter->reload(*tree_of(kYaml)).ok());
  EXPECT_EQ(decide().source, Source::kStore);
  EXPECT_EQ(decide().source, Source::kDenyCache);
}

TEST_F(FallbackTest, KeepsDenyingWhileTheStoreIsDown) {
  options.on_store_error = OnStoreError::kAllow;
  make();
  while (!decide().limited) continue;
  store->fail(Code::kStoreUnavailable);
  EXPECT_EQ(decide().source, Source::kDenyCache);
  clock.advance(std::chrono::seconds(1));
  EXPECT_EQ(decide().source, Source::kAllow);
}

TEST_F(FallbackTest, WorksWithoutADenyCache) {
  options.deny_cache = false;
  make();
  while (!decide().limited) continue;
  EXPECT_EQ(decide().source, Source::kStore);
  store->fail(Code::kStoreTimeout);
  const std::vector<std::string_view> path = {"user", "alex"};
  const PathCost path_cost{path, 1};
  Decision decision;
  EXPECT_EQ(
      limiter
          ->decide(Operation::kAuthorize, {{&path_cost, 1}}, nullptr, &decision)
          .code(),
      Code::kStoreTimeout);
}

TEST_F(FallbackTest, CountsBySource) {
  options.on_store_error = OnStoreError::kDeny;
  make();
  for (int i = 0; i < 7; ++i) decide();
  store->fail(Code::kStoreTimeout);
  clock.advance(std::chrono::seconds(2));
  for (int i = 0; i < 3; ++i) decide();
  const LimiterStats stats = limiter->stats();
  EXPECT_EQ(stats.totals.from(Source::kStore), 4);
  EXPECT_EQ(stats.totals.from(Source::kDenyCache), 3);
  EXPECT_EQ(stats.totals.from(Source::kDeny), 3);
  EXPECT_EQ(stats.totals.from(Source::kAllow), 0);
  EXPECT_EQ(stats.totals.allowed(), 4);
  EXPECT_EQ(stats.totals.limited(), 6);
  EXPECT_EQ(stats.totals.errors, 0);
  ASSERT_EQ(stats.store.errors.size(), 1u);
  EXPECT_STREQ(stats.store.errors[0].reason, "timeout");
  EXPECT_EQ(stats.store.errors[0].count, 3);
}

TEST_F(FallbackTest, CountsWhatIsNearALimit) {
  options.near_limit = {1, 2};
  make();
  for (int i = 0; i < 4; ++i) decide();
  for (const PolicyStats& policy : limiter->policy_stats()) {
    const bool trade = policy.policy == "user:*/trade";
    EXPECT_EQ(policy.tally.near_limit, trade ? 3 : 0) << policy.policy;
  }
}

TEST_F(FallbackTest, PingsTheStore) {
  options.on_store_error = OnStoreError::kAllow;
  make();
  EXPECT_TRUE(limiter->ping().ok());
  store->fail(Code::kStoreUnavailable, "loading");
  EXPECT_EQ(limiter->ping().code(), Code::kStoreUnavailable);
}

TEST(MakeStore, RefusesOptionsThatDoNotGoTogether) {
  Options options;
  ASSERT_TRUE(set_option("tls_verify", "off", &options).ok());
  EXPECT_EQ(make_store(options).status().code(), Code::kInvalidConfig);
}

TEST(MakeStore, NeedsNoGuardsInMemory) {
  Options options;
  Result<std::unique_ptr<Store>> store = make_store(options);
  ASSERT_TRUE(store.ok());
  EXPECT_NE(dynamic_cast<MemoryStore*>(store.value().get()), nullptr);
}

}  // namespace
}  // namespace limitree
