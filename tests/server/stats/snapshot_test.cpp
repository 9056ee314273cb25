#include "stats/snapshot.hpp"

#include <gtest/gtest.h>

#include "io/loop.hpp"
#include "stats/service_stats.hpp"

namespace limitree::server {
namespace {

TEST(Snapshot, LimitsWithTheSameCleanNameAreOne) {
  Snapshot snapshot;
  snapshot.add_limit("web.a:b", {1});
  snapshot.add_limit("web.a|b", {2});
  ASSERT_EQ(snapshot.limits.size(), 1u);
  EXPECT_EQ(snapshot.limits.at("web.a_b")[0], 3u);
}

TEST(Snapshot, TheDifferenceHasNewNamesWhole) {
  Snapshot before;
  before.add_limit("web.a", {1});
  before.at(ServiceCounter::kRedisError) = 1;
  Snapshot now;
  now.add_limit("web.a", {3});
  now.add_limit("web.b", {7});
  now.at(ServiceCounter::kRedisError) = 4;
  now.methods["Check"].counts[0] = 2;
  const Snapshot since = now.since(before);
  EXPECT_EQ(since.limits.at("web.a")[0], 2u);
  EXPECT_EQ(since.limits.at("web.b")[0], 7u);
  EXPECT_EQ(since.methods.at("Check").total(), 2u);
  EXPECT_EQ(since.at(ServiceCounter::kRedisError), 3u);
}

TEST(Snapshot, TextHasALineForEachCounter) {
  Snapshot snapshot;
  snapshot.add_limit("web.a", {3});
  snapshot.add_limit("nowhere", {0, 0, 0, 0, 0, 0, 0, 1});
  snapshot.set_cache(3, 1, 1, 0);
  EXPECT_EQ(stats_text(snapshot),
            R"(ratelimit.service.config_load_success: 0
ratelimit.service.config_load_error: 0
ratelimit.service.global_shadow_mode: 0
ratelimit.service.call.should_rate_limit.redis_error: 0
ratelimit.service.call.should_rate_limit.service_error: 0
ratelimit.service.rate_limit.nowhere.domain_not_found: 1
ratelimit.service.rate_limit.web.a.total_hits: 3
ratelimit.service.rate_limit.web.a.over_limit: 0
ratelimit.service.rate_limit.web.a.near_limit: 0
ratelimit.service.rate_limit.web.a.over_limit_with_local_cache: 0
ratelimit.service.rate_limit.web.a.within_limit: 0
ratelimit.service.rate_limit.web.a.shadow_mode: 0
ratelimit.localcache.entryCount: 1
ratelimit.localcache.evacuateCount: 0
ratelimit.localcache.hitCount: 1
ratelimit.localcache.lookupCount: 3
ratelimit.localcache.missCount: 2
)");
}

TEST(ServiceStats, AddsWorkersAndLoads) {
  Loop loop;
  WorkerStats one(&loop, {"Check", "Authorize"});
  WorkerStats two(&loop, {"Check", "Authorize"});
  ServiceStats stats([] {
    Snapshot counts;
    counts.at(ServiceCounter::kGlobalShadowMode) = 5;
    return counts;
  });
  stats.add_worker(&one);
  stats.add_worker(&two);
  stats.loaded(true);
  stats.loaded(true);
  stats.loaded(false);
  stats.add_loss("limitree.spans_lost", [] { return 4; });
  one.answered(0, loop.now());
  two.answered(0, loop.now());
  two.answered(1, loop.now() - kOneSecond);
  one.on_turn_end();
  two.on_turn_end();
  const Snapshot snapshot = stats.snapshot();
  EXPECT_EQ(snapshot.at(ServiceCounter::kConfigLoadSuccess), 2u);
  EXPECT_EQ(snapshot.at(ServiceCounter::kConfigLoadError), 1u);
  EXPECT_EQ(snapshot.at(ServiceCounter::kGlobalShadowMode), 5u);
  EXPECT_EQ(snapshot.losses.at("limitree.spans_lost"), 4u);
  EXPECT_EQ(snapshot.since(snapshot).losses.at("limitree.spans_lost"), 0u);
  EXPECT_EQ(snapshot.methods.at("Check").total(), 2u);
  EXPECT_EQ(snapshot.methods.at("Authorize").total(), 1u);
  EXPECT_GE(snapshot.methods.at("Authorize").sum_ns,
            static_cast<std::uint64_t>(kOneSecond.count()));
}

// The reader takes the clock once for all answers of a turn.
TEST(WorkerStats, AnswersOfOneTurnTakeTheSameTime) {
  Loop loop;
  WorkerStats stats(&loop, {"Check"});
  loop.post([&] {
    for (int i = 0; i < 3; ++i) stats.answered(0, loop.now());
    loop.stop();
  });
  loop.run();
  Snapshot snapshot;
  stats.add_to(&snapshot);
  const HistogramCounts& counts = snapshot.methods.at("Check");
  EXPECT_EQ(counts.total(), 3u);
  EXPECT_EQ(counts.sum_ns % 3, 0u);
}

TEST(WorkerStats, CountsAllMethodsAndTurns) {
  Loop loop;
  WorkerStats stats(&loop, {"Check", "Authorize"});
  for (int turn = 0; turn < 2; ++turn) {
    loop.post([&] {
      for (const Duration age : {Duration{}, kOneSecond, Duration{}}) {
        stats.answered(0, loop.now() - age);
        stats.answered(1, loop.now() - age);
        stats.answered(1, loop.now() - age);
      }
      loop.stop();
    });
    loop.run();
  }
  Snapshot snapshot;
  stats.add_to(&snapshot);
  const HistogramCounts& check = snapshot.methods.at("Check");
  const HistogramCounts& authorize = snapshot.methods.at("Authorize");
  EXPECT_EQ(check.total(), 6u);
  EXPECT_EQ(authorize.total(), 12u);
  EXPECT_GE(check.sum_ns, 2'000'000'000u);
  EXPECT_EQ(authorize.sum_ns, 2 * check.sum_ns);
}

}  // namespace
}  // namespace limitree::server
