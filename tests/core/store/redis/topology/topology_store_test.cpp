// The cases that every store must pass, over Sentinel and Cluster.

#include <gtest/gtest.h>

#include "core/store/redis/redis_fixture.hpp"
#include "core/store/redis/store_settings.hpp"
#include "core/store/redis/topology/cluster_fixture.hpp"
#include "core/store/redis/topology/sentinel_fixture.hpp"
#include "core/store/store_cases.hpp"

namespace limitree::redis {
namespace {

struct Sentinel {
  static Settings settings() {
    static SentinelFixture sentinels(
        {.password = "s3rver", .sentinel_password = "s3ntinel"});
    Settings settings = store_settings(sentinels.url());
    settings.sentinel_login.password = "s3ntinel";
    return settings;
  }
};

struct Cluster {
  static Settings settings() {
    static ClusterFixture cluster;
    return store_settings(cluster.url());
  }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Sentinel, StoreCases, RedisFixture<Sentinel>);
INSTANTIATE_TYPED_TEST_SUITE_P(SentinelCached, StoreCases,
                               CachedFixture<Sentinel>);
INSTANTIATE_TYPED_TEST_SUITE_P(Cluster, StoreCases, RedisFixture<Cluster>);
INSTANTIATE_TYPED_TEST_SUITE_P(ClusterCached, StoreCases,
                               CachedFixture<Cluster>);

// The callers of one request are in different slots.  Either all of them are
// charged, or none.
TEST(ClusterStore, ChargesSeveralSlotsOrNone) {
  RedisStore store(Cluster::settings(), std::nullopt);
  const Limit wide = simple_limit(std::chrono::hours(1), 10);
  const Limit tight = simple_limit(std::chrono::hours(1), 1);
  constexpr std::string_view kNames[] = {"a", "b", "c", "d", "e", "f"};
  for (int i = 0; i < 3; ++i) {
    Plan plan(Operation::kAuthorize);
    for (std::uint32_t k = 0; k < 6; ++k) {
      plan.segments.emplace_back(kNames[k], Segment::Kind::kCaller);
      plan.add_level(k == 3 ? &tight : &wide, k, 1u, 1);
    }
    ASSERT_TRUE(store.decide(&plan).ok());
    for (std::uint32_t k = 0; k < 6; ++k) {
      EXPECT_EQ(plan.levels[k].verdict.remaining, k == 3 ? 0 : 9) << i;
      EXPECT_EQ(plan.levels[k].verdict.charged, i == 0) << i;
    }
  }
}

}  // namespace
}  // namespace limitree::redis
