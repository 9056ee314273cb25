// The cases that every store must pass, over Sentinel and Cluster.

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <memory>
#include <vector>

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

// Limits of a second are in a cluster of their own.
struct TwoParts {
  static Settings settings() {
    Settings settings = Sentinel::settings();
    const Settings cluster = Cluster::settings();
    Settings other = settings;
    other.url = cluster.url;
    other.login = cluster.login;
    settings.per_second = std::make_shared<const Settings>(std::move(other));
    return settings;
  }
};

INSTANTIATE_TYPED_TEST_SUITE_P(TwoParts, StoreCases, RedisFixture<TwoParts>);
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

// A request that a loop answers.
class Asked final : public Pending {
 public:
  Asked(StoreLoop* loop, const std::vector<const Limit*>& limits)
      : Pending(Kind::kDecide, Operation::kAuthorize, loop) {
    plan().segments.emplace_back("alex", Segment::Kind::kCaller);
    for (const Limit* const limit : limits) {
      plan().add_level(limit, 0U, 1U, 1);
    }
  }

  bool start(Store* store) {
    Status status;
    return !store->start(this, &status);
  }
  bool done() const { return done_; }
  const Status& status() const { return status_; }

 private:
  void finished(Status status) override {
    status_ = std::move(status);
    done_ = true;
  }

  bool done_ = false;
  Status status_;
};

void run_until_done(StoreLoop* loop, const std::vector<Asked*>& all) {
  const auto waits = [](const Asked* one) { return !one->done(); };
  while (std::any_of(all.begin(), all.end(), waits)) {
    pollfd watched{loop->fd(), POLLIN, 0};
    ASSERT_EQ(poll(&watched, 1, 30'000), 1);
    loop->run();
  }
}

Limit limit_per(Duration period, Charge charge) {
  Limit limit = limit_of(Algorithm::kGcra, 5, period);
  limit.charge = charge;
  limit.suffix = period > std::chrono::seconds(1) ? "#long" : "#short";
  return limit;
}

// A new store knows no server: a loop asks where those of both parts are.
TEST(TwoPartStore, ALoopFindsTheServersOfBoth) {
  for (const Charge charge : {Charge::kIndependent, Charge::kAllOrNothing}) {
    RedisStore store(TwoParts::settings(), std::nullopt);
    const std::unique_ptr<StoreLoop> loop = store.new_loop();
    const Limit hour = limit_per(std::chrono::hours(1), charge);
    const Limit second = limit_per(std::chrono::seconds(1), charge);
    Asked both(loop.get(), {&hour, &second});
    Asked slow(loop.get(), {&hour});
    Asked fast(loop.get(), {&second});
    for (Asked* const one : {&both, &slow, &fast}) {
      ASSERT_TRUE(one->start(&store));
    }
    run_until_done(loop.get(), {&both, &slow, &fast});
    for (const Asked* const one : {&both, &slow, &fast}) {
      EXPECT_TRUE(one->status().ok()) << one->status().message();
    }
  }
}

// While nobody tells where one part is, the other one is asked.
TEST(TwoPartStore, APartThatIsNotFoundDoesNotHideTheOther) {
  Settings settings = Cluster::settings();
  Settings other = settings;
  other.url = parse_url("redis+sentinel://127.0.0.1:1/main").value();
  settings.per_second = std::make_shared<const Settings>(std::move(other));
  RedisStore store(settings, std::nullopt);
  const Limit hour = limit_per(std::chrono::hours(1), Charge::kAllOrNothing);
  const Limit second =
      limit_per(std::chrono::seconds(1), Charge::kAllOrNothing);
  const std::unique_ptr<StoreLoop> loop = store.new_loop();
  Asked both(loop.get(), {&hour, &second});
  Asked slow(loop.get(), {&hour});
  ASSERT_TRUE(both.start(&store));
  ASSERT_TRUE(slow.start(&store));
  run_until_done(loop.get(), {&both, &slow});
  EXPECT_EQ(both.status().code(), Code::kStoreUnavailable);
  EXPECT_NE(both.status().message().find("127.0.0.1:1"), std::string::npos)
      << both.status().message();
  EXPECT_TRUE(slow.status().ok()) << slow.status().message();
  // The same for a caller that blocks.
  for (const Limit* const limit : {&second, &hour}) {
    Plan plan(Operation::kAuthorize);
    plan.segments.emplace_back("alex", Segment::Kind::kCaller);
    plan.add_level(limit, 0U, 1U, 1);
    EXPECT_EQ(store.decide(&plan).ok(), limit == &hour);
  }
}

}  // namespace
}  // namespace limitree::redis
