#include "store/decorators/over_cache.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "core/store/fake_store.hpp"
#include "core/store/store_cases.hpp"

namespace limitree {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class OverCacheTest : public testing::Test {
 protected:
  OverCacheTest() {
    clock.set(Instant(std::chrono::hours(400'000) + minutes(10)));
  }

  static void add(const Limit& counter, const char* name, std::int64_t cost,
                  Plan* plan) {
    const auto first = static_cast<std::uint32_t>(plan->segments.size());
    plan->segments.emplace_back(name, Segment::Kind::kCaller);
    plan->add_level(&counter, first, 1u, cost);
  }

  // Carries out a request as a limiter would.
  void decide(Plan* plan) {
    const Checkpoint checkpoint = cache.take_cached(plan, &known);
    if (plan->levels.empty()) return;
    ++store_asked;
    ASSERT_TRUE(store.decide(plan).ok());
    cache.learn(*plan, checkpoint);
  }
  // One hit.  Returns whether the cache has answered it.
  bool knows(const char* name, std::int64_t cost = 1,
             Operation operation = Operation::kAuthorize) {
    Plan plan(operation);
    add(limit, name, cost, &plan);
    decide(&plan);
    return plan.levels.empty();
  }
  std::int64_t counted(const char* name) {
    Plan plan(Operation::kPeek);
    add(limit, name, 0, &plan);
    EXPECT_TRUE(store.decide(&plan).ok());
    return plan.levels[0].before;
  }

  Limit limit = hour_counter(2);
  ManualClock clock;
  MemoryStore store{1000, clock.clock()};
  OverCache cache{1000, clock.clock()};
  OverCache::CachedLevels known;
  int store_asked = 0;
};

TEST_F(OverCacheTest, AnswersFromTheFirstDenialToTheEndOfTheWindow) {
  EXPECT_FALSE(knows("a"));
  EXPECT_FALSE(knows("a"));
  EXPECT_FALSE(knows("a")) << "this hit is over the limit";
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(knows("a"));
    const Verdict& verdict = known[0].verdict;
    EXPECT_TRUE(verdict.limited);
    EXPECT_FALSE(verdict.charged);
    EXPECT_EQ(verdict.remaining, 0);
    EXPECT_EQ(verdict.retry_after, minutes(50) - i * minutes(10));
    EXPECT_EQ(verdict.reset_after, verdict.retry_after);
    EXPECT_EQ(verdict.next_after, verdict.retry_after);
    EXPECT_EQ(grows_after(known[0]), verdict.retry_after);
    EXPECT_TRUE(hits_of(known[0]).exceeds(2));
    clock.advance(minutes(10));
  }
  EXPECT_EQ(counted("a"), 3) << "the counter stands still";
  clock.advance(minutes(20) - Duration(1));
  EXPECT_TRUE(knows("a"));
  clock.advance(Duration(1));
  EXPECT_FALSE(knows("a"));
  EXPECT_EQ(store_asked, 4);
  const OverCache::Stats stats = cache.stats();
  EXPECT_EQ(stats.lookups, 8);
  EXPECT_EQ(stats.hits, 4);
  EXPECT_EQ(stats.counters, 0);
  EXPECT_EQ(stats.evictions, 0);
}

TEST_F(OverCacheTest, KnowsOnlyWhatIsOver) {
  EXPECT_FALSE(knows("a", 2)) << "all that the limit admits";
  EXPECT_FALSE(knows("a", 0));
  EXPECT_FALSE(knows("a", 5, Operation::kPeek)) << "denied, but not counted";
  EXPECT_FALSE(knows("a", 0));
  EXPECT_EQ(cache.stats().counters, 0);
  EXPECT_FALSE(knows("a", 1));
  EXPECT_TRUE(knows("a", 0)) << "also for those who look";
  EXPECT_TRUE(knows("a", 1, Operation::kPeek));
  EXPECT_TRUE(knows("a", 3));
  EXPECT_EQ(known[0].verdict.retry_after, kNever);
  EXPECT_FALSE(knows("b"));
  EXPECT_EQ(cache.stats().counters, 1);
}

// The store moves what is dated after now to now; until it has, the end that is
// known here is too late.
TEST_F(OverCacheTest, AsksAgainIfTheClockHasSteppedBack) {
  knows("a", 3);
  EXPECT_TRUE(knows("a"));
  clock.advance(-std::chrono::hours(5));
  EXPECT_FALSE(knows("a"));
  EXPECT_TRUE(knows("a")) << "from now on";
  EXPECT_LE(known[0].verdict.retry_after, std::chrono::hours(1));
  clock.advance(known[0].verdict.retry_after);
  EXPECT_FALSE(knows("a"));
  EXPECT_EQ(counted("a"), 1) << "the window of now has ended";
}

// A peek of a counter that is over tells it, too.
TEST_F(OverCacheTest, LearnsFromThoseWhoLook) {
  Plan plan(Operation::kSpend);
  add(limit, "a", 3, &plan);
  ASSERT_TRUE(store.decide(&plan).ok());
  EXPECT_FALSE(knows("a", 0));
  EXPECT_TRUE(knows("a"));
}

TEST_F(OverCacheTest, SpendIsAlwaysCounted) {
  knows("a", 3);
  EXPECT_FALSE(knows("a", 4, Operation::kSpend));
  EXPECT_EQ(counted("a"), 7);
  EXPECT_TRUE(knows("a"));
}

TEST_F(OverCacheTest, TakesOnlyWhatItKnows) {
  const Limit wide = hour_counter(100);
  Limit shadow = limit;
  shadow.mode = Mode::kShadow;
  const Limit bucket = simple_limit(seconds(1), 5);
  for (int i = 0; i < 3; ++i) {
    Plan plan(Operation::kAuthorize);
    add(bucket, "a", 1, &plan);
    add(limit, "b", 3, &plan);
    add(wide, "c", 1, &plan);
    add(shadow, "d", 3, &plan);
    for (std::uint32_t k = 0; k < 4; ++k) plan.levels[k].path = k;
    decide(&plan);
    ASSERT_EQ(plan.levels.size(), i == 0 ? 4u : 2u);
    ASSERT_EQ(known.size(), i == 0 ? 0u : 2u);
    if (i == 0) continue;
    EXPECT_EQ(plan.levels[0].path, 0u);
    EXPECT_EQ(plan.levels[1].path, 2u);
    EXPECT_EQ(plan.levels[1].before, i) << "still counted";
    EXPECT_EQ(known[0].path, 1u);
    EXPECT_EQ(known[1].path, 3u);
  }
}

// A denial by the cache is one for the others of the request.
TEST_F(OverCacheTest, ADenialStopsOthersThatDenyAlone) {
  limit.charge = Charge::kAllOrDenying;
  Limit wide = hour_counter(100, Charge::kAllOrDenying);
  for (int i = 0; i < 3; ++i) {
    Plan plan(Operation::kAuthorize);
    add(limit, "a", 3, &plan);
    add(wide, "b", 1, &plan);
    decide(&plan);
    EXPECT_EQ(plan.levels.back().before, 0);
    EXPECT_EQ(plan.levels.back().cost, i == 0 ? 1 : 0);
    EXPECT_FALSE(plan.levels.back().verdict.charged);
  }
}

// Over a small limit says nothing about a larger one of the same bucket.
TEST_F(OverCacheTest, TellsLimitsOfOneBucketApart) {
  knows("a", 3);
  EXPECT_TRUE(knows("a"));
  limit = hour_counter(4);
  EXPECT_FALSE(knows("a"));
  EXPECT_EQ(counted("a"), 4);
  limit = make_counter(2, std::chrono::hours(2));
  EXPECT_FALSE(knows("a"));
}

TEST_F(OverCacheTest, ForgetsWhatIsGivenBack) {
  knows("a", 4);
  EXPECT_TRUE(knows("a"));
  EXPECT_FALSE(knows("a", 3, Operation::kRefund));
  EXPECT_FALSE(knows("a"));
  EXPECT_EQ(counted("a"), 2);

  knows("b", 4);
  Plan failed(Operation::kRefund);
  add(limit, "b", 1, &failed);
  cache.forget(failed);
  EXPECT_FALSE(knows("b"));
}

// The denial is on its way back during a refund.
TEST_F(OverCacheTest, LearnsNothingOlderThanARefund) {
  Plan plan(Operation::kAuthorize);
  add(limit, "a", 3, &plan);
  const Checkpoint checkpoint = cache.take_cached(&plan, &known);
  ASSERT_TRUE(store.decide(&plan).ok());
  knows("b", 1, Operation::kRefund);
  cache.learn(plan, checkpoint);
  EXPECT_FALSE(knows("a"));
}

TEST_F(OverCacheTest, LearnsOnlyFromTheStore) {
  for (const Source source :
       {Source::kLocal, Source::kAllow, Source::kDeny, Source::kDenyCache}) {
    Plan plan(Operation::kAuthorize);
    add(limit, "a", 3, &plan);
    const Checkpoint checkpoint = cache.take_cached(&plan, &known);
    ASSERT_TRUE(store.decide(&plan).ok());
    plan.source = source;
    cache.learn(plan, checkpoint);
    EXPECT_EQ(cache.stats().counters, 0);
  }
}

TEST_F(OverCacheTest, StaysSmall) {
  std::vector<std::string> names;
  for (int i = 0; i < 5000; ++i) names.push_back(std::to_string(i));
  for (const std::string& name : names) knows(name.c_str(), 3);
  const OverCache::Stats stats = cache.stats();
  EXPECT_LE(stats.counters, 1100);
  EXPECT_GE(stats.counters, 900);
  EXPECT_EQ(stats.counters + stats.evictions, 5000);
}

TEST_F(OverCacheTest, ServesSeveralThreads) {
  std::atomic<int> counted_hits{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, &counted_hits] {
      OverCache::CachedLevels mine;
      for (int i = 0; i < 2000; ++i) {
        Plan plan(Operation::kAuthorize);
        add(limit, i % 2 == 0 ? "a" : "b", 1, &plan);
        const Checkpoint checkpoint = cache.take_cached(&plan, &mine);
        if (plan.levels.empty()) continue;
        ++counted_hits;
        EXPECT_TRUE(store.decide(&plan).ok());
        cache.learn(plan, checkpoint);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counted("a") + counted("b"), counted_hits.load());
  EXPECT_LT(counted_hits, 4000);
}

}  // namespace
}  // namespace limitree
