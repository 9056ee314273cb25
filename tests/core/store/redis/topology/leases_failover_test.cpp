// Leases of servers of which one is gone, and of a cluster.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/store/manual_clock.hpp"
#include "core/store/redis/await.hpp"
#include "core/store/redis/topology/cluster_fixture.hpp"
#include "core/store/redis/topology/sentinel_fixture.hpp"
#include "core/tree/loaded.hpp"
#include "limiter/limiter.hpp"
#include "limiter/make_store.hpp"

namespace limitree::redis::leases_failover_test {
namespace {

using std::chrono::seconds;

// Nothing drains during a test, and a lease takes one of the thousand.
constexpr std::string_view kYaml = R"(
schema:
  user:
    limits: {count: 1000, period: 90d, lease: 20s}
    children:
      "*":
        limits: {count: 1000, period: 90d, lease: 20s}
        children:
          trade: {limits: {count: 1000, period: 90d, lease: 20s}}
  job:
    children:
      "*":
        limits: {count: 1000, period: 90d, lease: 20s}
        children:
          trade: {limits: {count: 1000, period: 90d, lease: 20s}}
)";
constexpr std::int64_t kMost = 999;
const Segments kJob = {"job", "alex", "trade"};

class LeasingCaller {
 public:
  explicit LeasingCaller(const std::string& url) {
    Options options;
    options.clock = clock_.clock();
    EXPECT_TRUE(set_option("store", url, &options).ok());
    EXPECT_TRUE(set_option("timeout", "10s", &options).ok());
    limiter_ = std::make_unique<Limiter>(
        std::make_shared<const Tree>(loaded(kYaml)), options,
        std::move(make_store(options).value()));
  }

  // Returns whether there was an answer.
  bool ask(Operation operation, const Segments& path, std::int64_t cost) {
    const PathCost one{path, cost};
    decision = {};
    return limiter_->decide(operation, {{&one, 1}}, &reports_, &decision).ok();
  }
  // A second after the last request.
  bool authorize(const Segments& path) {
    clock_.advance(seconds(1));
    return ask(Operation::kAuthorize, path, 1);
  }
  std::int64_t left(const Segments& path) {
    return ask(Operation::kPeek, path, 0) ? decision.remaining : -1;
  }
  std::int64_t held() {
    const StoreStats stats = limiter_->stats().store;
    return stats.leased - stats.lease_used - stats.lease_lost;
  }

  Decision decision;

 private:
  ManualClock clock_;
  std::unique_ptr<Limiter> limiter_;
  LevelReports reports_;
};

TEST(LeasesFailover, WhatIsHeldOutlastsThePrimary) {
  SentinelFixture fixture;
  LeasingCaller caller(fixture.url());
  await("the store", [&] { return caller.left(kJob) == kMost; });
  std::int64_t used = 0;
  while (caller.held() < 12 && used < 200) {
    ASSERT_TRUE(caller.authorize(kJob));
    ++used;
  }
  const std::int64_t held = caller.held();
  ASSERT_GE(held, 12);
  const auto buckets = [&](int server) {
    return fixture.server(server).cli({"HGETALL", "limitree:{job:alex}"});
  };
  await("the replicas",
        [&] { return buckets(1) == buckets(0) && buckets(2) == buckets(0); });
  fixture.server(0).kill();
  for (std::int64_t i = 0; i < held; ++i) {
    ASSERT_TRUE(caller.ask(Operation::kAuthorize, kJob, 1)) << i;
    EXPECT_FALSE(caller.decision.limited);
    EXPECT_EQ(caller.decision.source, Source::kLease) << i;
  }
  fixture.await_primary(0);
  await("the store", [&] { return caller.left(kJob) >= 0; });
  EXPECT_EQ(caller.held(), 0);
  EXPECT_EQ(caller.left(kJob), kMost - used - held);
}

TEST(LeasesCluster, OnlyPathsOfOneSlotAreLeased) {
  ClusterFixture fixture;
  LeasingCaller caller(fixture.url());
  await("the store", [&] { return caller.left(kJob) == kMost; });
  const Segments user = {"user", "alex", "trade"};
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(caller.authorize(user));
    EXPECT_EQ(caller.decision.source, Source::kStore) << i;
  }
  EXPECT_EQ(caller.held(), 0);
  EXPECT_EQ(caller.left(user), kMost - 100);
  int leased = 0;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(caller.authorize(kJob));
    leased += caller.decision.source == Source::kLease ? 1 : 0;
  }
  EXPECT_GT(leased, 50);

  const Tree tree = loaded(kYaml);
  const auto explained = [&](const Segments& path) {
    return tree.explain(path).value();
  };
  EXPECT_NE(explained(user).find("not in a cluster"), std::string::npos);
  EXPECT_EQ(explained(kJob).find("not in a cluster"), std::string::npos);
}

}  // namespace
}  // namespace limitree::redis::leases_failover_test
