// What the memory store does with limits that are not plain GCRA, apart from
// what the vectors of tests/conformance/ say: bounds, clocks and memory.

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/sliding_tail.hpp"
#include "core/store/manual_clock.hpp"
#include "core/store/store_cases.hpp"
#include "core/tree/loaded.hpp"
#include "store/memory_store.hpp"
#include "tree/schema.hpp"

namespace limitree {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreCases);

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The limit that `rules` make, as in limits.yaml.
Limit limit_of(const std::string& rules) {
  Result<Tree> tree =
      load_tree("schema: {a: {limits: {" + rules + "}}}", "test");
  if (!tree.ok()) {
    ADD_FAILURE() << tree.status().error().messages.front();
    return {};
  }
  return tree.value().limits().front();
}

struct Bound {
  const char* name;
  const char* rules;
  std::int64_t most;  // units within any period
};

// Ten per second each.
constexpr Bound kBounds[] = {
    {"gcra", "algorithm: gcra", 20},
    {"gcra_overrun", "algorithm: gcra, overrun: {percent: 50}", 25},
    {"fixed_window", "algorithm: fixed_window", 20},
    {"fixed_window_first", "algorithm: fixed_window, align: first", 20},
    {"sliding_log", "algorithm: sliding_log", 10},
    {"sliding_window", "algorithm: sliding_window, buckets: 4", 10},
    {"sliding_window_60", "algorithm: sliding_window", 10},
    {"sliding_log_overrun", "algorithm: sliding_log, overrun: {percent: 20}",
     12},
    {"sliding_tail", "algorithm: sliding_tail", 19},
    {"sliding_tail_up", "algorithm: sliding_tail, round: up", 19},
    {"leaky_step", "algorithm: leaky_bucket, drain: step", 21},
};

class BoundTest : public testing::TestWithParam<Bound> {};

// Callers who ask at the worst of times, and at random.
TEST_P(BoundTest, NoPeriodAdmitsMore) {
  const Limit limit =
      limit_of(std::string("count: 10, period: 1s, ") + GetParam().rules);
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    ManualClock clock;
    clock.advance(Duration(random() % 1'000'000'000));
    MemoryStore store(1000, clock.clock());
    std::deque<std::pair<Instant, std::int64_t>> admitted;
    std::int64_t sum = 0;
    std::int64_t most = 0;
    for (int i = 0; i < 3000; ++i) {
      const auto cost =
          static_cast<std::int64_t>(random() % 8 == 0 ? 1 + random() % 5 : 1);
      Request request(Operation::kAuthorize, {"a"});
      const Decision decision = request.level(limit, 1, cost).decide(&store);
      if (!decision.limited) {
        admitted.emplace_back(clock.now(), cost);
        sum += cost;
        while (admitted.front().first <= clock.now() - seconds(1)) {
          sum -= admitted.front().second;
          admitted.pop_front();
        }
        most = std::max(most, sum);
      }
      const bool exact = decision.limited && random() % 2 == 0;
      clock.advance(exact ? decision.retry_after
                          : Duration(random() % 80'000'000));
      if (random() % 50 == 0) clock.advance(milliseconds(random() % 3000));
    }
    ASSERT_LE(most, GetParam().most) << "seed " << seed;
    ASSERT_GE(most, limit.rate.capacity) << "never used up: no test";
  }
}

// A denied request changes nothing, whatever it asks for.
TEST_P(BoundTest, DeniedRequestsNeverConsume) {
  const Limit limit =
      limit_of(std::string("count: 10, period: 1s, ") + GetParam().rules);
  ManualClock clock;
  MemoryStore hammered(1000, clock.clock());
  MemoryStore polite(1000, clock.clock());
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    const auto ask = [&](MemoryStore* store, std::int64_t cost) {
      return Request(Operation::kAuthorize, {"a"})
          .level(limit, 1, cost)
          .decide(store);
    };
    const Decision one = ask(&polite, 2);
    const Decision two = ask(&hammered, 2);
    ASSERT_EQ(one.limited, two.limited);
    ASSERT_EQ(one.remaining, two.remaining);
    ASSERT_EQ(one.retry_after, two.retry_after);
    if (one.limited) {
      for (int k = 0; k < 3; ++k) ASSERT_TRUE(ask(&hammered, 9).limited);
    }
    clock.advance(milliseconds(random() % 150));
  }
}

// A clock that steps back denies for a period at worst, and admits no more.
TEST_P(BoundTest, SurvivesAClockThatStepsBack) {
  const Limit limit =
      limit_of(std::string("count: 10, period: 1s, ") + GetParam().rules);
  ManualClock clock;
  MemoryStore store(1000, clock.clock());
  const auto ask = [&](std::int64_t cost) {
    return Request(Operation::kAuthorize, {"a"})
        .level(limit, 1, cost)
        .decide(&store);
  };
  ASSERT_FALSE(ask(10).limited);
  clock.advance(-std::chrono::hours(2));
  const Decision denied = ask(10);
  EXPECT_TRUE(denied.limited);
  EXPECT_LE(denied.retry_after, seconds(2));
  EXPECT_GT(denied.retry_after, Duration(0));
  clock.advance(std::chrono::hours(2));
  EXPECT_EQ(ask(10).limited, true);
  clock.advance(seconds(3));
  EXPECT_FALSE(ask(10).limited);
}

INSTANTIATE_TEST_SUITE_P(All, BoundTest, testing::ValuesIn(kBounds),
                         [](const auto& one) { return one.param.name; });

// floor(previous x share inside) + current + cost, as the docs tell it.
TEST(SlidingTail, WeighsThePreviousWindow) {
  const Duration minute = seconds(60);
  const auto at = [](double s) {
    return Instant(Duration(static_cast<std::int64_t>(s * 1e9)));
  };
  const SlidingTail::State state{Instant(), 2, 0};
  EXPECT_EQ(SlidingTail(state, minute, false, at(61)).used(), 1);  // 1.97
  EXPECT_EQ(SlidingTail(state, minute, true, at(61)).used(), 2);
  EXPECT_EQ(SlidingTail(state, minute, false, at(60)).used(), 2);
  EXPECT_EQ(SlidingTail(state, minute, false, at(120)).used(), 0);
  EXPECT_EQ(SlidingTail(state, minute, false, at(59.9)).used(), 2);
}

// Counts and periods far beyond 2^53 when multiplied.
TEST(SlidingTail, HasRoomForLongProducts) {
  const Duration period = std::chrono::days(36000);
  const SlidingTail::State state{Instant(), kMaxUnits, 0};
  const SlidingTail tail(state, period, false, Instant(period + period / 2));
  EXPECT_EQ(tail.used(), kMaxUnits / 2);
  EXPECT_GT(tail.until(1), Instant(period + period / 2));
}

// Whatever lies on a path decides in one step.
TEST(MixedPath, ChargesAllLevelsOrNone) {
  const std::vector<Limit> limits = {
      limit_of("count: 50, period: 1m"),
      limit_of("count: 40, period: 1m, algorithm: fixed_window"),
      limit_of("count: 30, period: 1m, algorithm: sliding_log"),
      limit_of("count: 20, period: 1m, algorithm: sliding_tail"),
      limit_of("count: 10, period: 1m, algorithm: leaky_bucket, drain: step"),
      limit_of("count: 5, period: 1m, algorithm: sliding_window")};
  ManualClock clock;
  MemoryStore store(1000, clock.clock());
  const auto ask = [&](Operation operation, std::int64_t cost) {
    Request request(operation, {"a", "b", "c", "d", "e", "f"});
    std::uint32_t depth = 0;
    for (const Limit& limit : limits) request.level(limit, ++depth, cost);
    request.decide(&store);
    std::vector<std::int64_t> left;
    for (std::size_t i = 0; i < limits.size(); ++i) {
      left.push_back(request.verdict(i).remaining);
    }
    return left;
  };
  using Left = std::vector<std::int64_t>;
  EXPECT_EQ(ask(Operation::kAuthorize, 3), (Left{47, 37, 27, 17, 7, 2}));
  EXPECT_EQ(ask(Operation::kAuthorize, 3), (Left{47, 37, 27, 17, 7, 2}));
  EXPECT_EQ(ask(Operation::kRefund, 2), (Left{49, 39, 29, 19, 9, 4}));
  EXPECT_EQ(ask(Operation::kSpend, 15), (Left{34, 24, 14, 4, 0, 0}));
  EXPECT_EQ(ask(Operation::kPeek, 0), (Left{34, 24, 14, 4, 0, 0}));
}

TEST(Logs, AreForgottenWithTheirBucket) {
  const Limit limit = limit_of("count: 3, period: 1m, algorithm: sliding_log");
  ManualClock clock;
  MemoryStore store(1000, clock.clock());
  Request request(Operation::kAuthorize, {"a"});
  request.level(limit, 1).decide(&store);
  EXPECT_EQ(store.stats().buckets, 1);
  ASSERT_TRUE(store.reset(request.plan()).ok());
  EXPECT_EQ(store.stats().buckets, 0);
  EXPECT_EQ(
      Request(Operation::kPeek, {"a"}).level(limit, 1).decide(&store).remaining,
      2);
}

// Those who owe least go first, and whoever is limited stays so.
TEST(Logs, TakeBoundedMemory) {
  const Limit limit =
      limit_of("count: 100, period: 1h, algorithm: sliding_log");
  ManualClock clock;
  constexpr std::int64_t kMax = 1000;
  MemoryStore store(kMax, clock.clock());
  const auto ask = [&](const std::string& name) {
    clock.advance(std::chrono::microseconds(1));
    return Request(Operation::kAuthorize, {name})
        .level(limit, 1)
        .decide(&store)
        .limited;
  };
  for (int i = 0; i < 100; ++i) ASSERT_FALSE(ask("limited"));
  ASSERT_TRUE(ask("limited"));
  std::mt19937 random(1);
  for (int i = 0; i < 60'000; ++i) {
    ask("caller" + std::to_string(random() % 900));
  }
  const StoreStats stats = store.stats();
  EXPECT_LE(stats.bytes,
            kMax * (32 + MemoryStore::kLogBytesPerBucket) + 4096 + 3000);
  EXPECT_GT(stats.evictions, 0);
  EXPECT_TRUE(ask("limited"));
}

TEST(Windows, EvictWhoHasUsedLeast) {
  const Limit limit =
      limit_of("count: 100, period: 1d, algorithm: fixed_window");
  ManualClock clock;
  MemoryStore store(8, clock.clock());
  const auto ask = [&](const std::string& name, std::int64_t cost) {
    return Request(Operation::kAuthorize, {name})
        .level(limit, 1, cost)
        .decide(&store)
        .limited;
  };
  ASSERT_FALSE(ask("limited", 100));
  for (int i = 0; i < 1000; ++i) ask("flood" + std::to_string(i), 1);
  EXPECT_GT(store.stats().evictions, 0);
  EXPECT_TRUE(ask("limited", 1));
}

// What has been used in a window stays used if the new window has it inside.
TEST(Windows, OutliveAChangedPeriod) {
  const Limit minute =
      limit_of("count: 10, period: 1m, algorithm: fixed_window");
  const Limit hour = limit_of("count: 10, period: 1h, algorithm: fixed_window");
  ManualClock clock;
  MemoryStore store(8, clock.clock());
  const auto left = [&](const Limit& limit, std::int64_t cost) {
    return Request(Operation::kAuthorize, {"a"})
        .level(limit, 1, cost)
        .decide(&store)
        .remaining;
  };
  EXPECT_EQ(left(minute, 4), 6);
  EXPECT_EQ(left(hour, 1), 5);
  EXPECT_EQ(left(minute, 1), 4);
  clock.advance(std::chrono::minutes(1));
  EXPECT_EQ(left(minute, 1), 9);
}

TEST(Overrun, IsScaledByPressure) {
  const Limit limit =
      limit_of("count: 10, period: 1m, overrun: {percent: 50, when: idle}");
  EXPECT_EQ(ceiling_of(limit, kFullPressure), 10);
  EXPECT_EQ(ceiling_of(limit, kFullPressure / 2), 12);
  EXPECT_EQ(ceiling_of(limit, 0), 15);
  EXPECT_EQ(highest_ceiling_of(limit), 15);
}

}  // namespace
}  // namespace limitree
