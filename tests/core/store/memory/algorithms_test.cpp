// The memory store with limits that are not plain GCRA, beyond the vectors of
// tests/conformance/: bounds, clocks and memory.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/leaky_step.hpp"
#include "base/sliding_tail.hpp"
#include "core/store/manual_clock.hpp"
#include "core/store/store_cases.hpp"
#include "core/tree/loaded.hpp"
#include "store/memory/memory_store.hpp"
#include "tree/schema.hpp"

namespace limitree {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreCases);

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The limit with `rules` in the form of limits.yaml.
Limit limit_of(const std::string& rules) {
  Result<Tree> tree =
      load_tree("schema: {a: {limits: {" + rules + "}}}", "test");
  if (!tree.ok()) {
    ADD_FAILURE() << tree.status().error().messages.front();
    return {};
  }
  return tree.value().limits_of("a").front();
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
    {"sliding_window_4", "algorithm: sliding_window, buckets: 4", 10},
    {"sliding_window", "algorithm: sliding_window", 10},
    {"sliding_log_overrun", "algorithm: sliding_log, overrun: {percent: 20}",
     12},
    {"sliding_tail", "algorithm: sliding_tail", 20},
    {"sliding_tail_up", "algorithm: sliding_tail, round: up", 19},
    {"leaky_step", "algorithm: leaky_bucket, drain: step", 21},
};

TEST(Algorithms, EachHasABound) {
  for (const AlgorithmTraits& one : kAlgorithms) {
    EXPECT_TRUE(std::any_of(std::begin(kBounds), std::end(kBounds),
                            [&](const Bound& bound) {
                              return bound.rules ==
                                     std::string("algorithm: ") + one.rule;
                            }))
        << one.rule;
  }
}

class BoundTest : public testing::TestWithParam<Bound> {};

// Callers that ask at the worst times, and at random.
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

// The bound in docs/algorithms.md is reached: everything at the end of one
// window, and again when just less than one unit of it counts.
TEST(SlidingTail, AdmitsTwiceTheCountAtWorst) {
  const Limit limit =
      limit_of("count: 10, period: 1s, algorithm: sliding_tail");
  ManualClock clock;
  MemoryStore store(1000, clock.clock());
  const auto take_all = [&] {
    std::int64_t units = 0;
    for (;; ++units) {
      Request request(Operation::kAuthorize, {"a"});
      if (request.level(limit, 1, 1).decide(&store).limited) return units;
    }
  };
  const Duration into = clock.now().time_since_epoch() % seconds(1);
  clock.advance(seconds(1) - into - std::chrono::microseconds(1));
  EXPECT_EQ(take_all(), 10);
  clock.advance(milliseconds(900) + std::chrono::microseconds(2));
  EXPECT_EQ(take_all(), 10);
}

// A denied request changes nothing, whatever its cost.
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

// After a step back, the clock denies for as long as the answer says, at most
// two periods.
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
  clock.advance(denied.retry_after - Duration(1));
  EXPECT_TRUE(ask(10).limited);
  clock.advance(Duration(1));
  EXPECT_FALSE(ask(10).limited);
}

// A state dated after now is moved to now, even if another level denies.
TEST_P(BoundTest, IsHeldThoughAnotherLevelDenies) {
  const Limit limit =
      limit_of(std::string("count: 10, period: 1s, ") + GetParam().rules);
  const Limit other = limit_of("count: 1, period: 1h");
  ManualClock clock;
  MemoryStore store(1000, clock.clock());
  const auto ask = [&](Operation operation, std::int64_t cost) {
    Request request(operation, {"a", "b"});
    request.level(limit, 1, cost).level(other, 2).decide(&store);
    return request.verdict(0);
  };
  ask(Operation::kAuthorize, 4);
  clock.advance(-std::chrono::hours(2));
  EXPECT_FALSE(ask(Operation::kAuthorize, 1).charged);
  const Duration reset = ask(Operation::kPeek, 0).reset_after;
  EXPECT_LE(reset, seconds(2));
  clock.advance(reset - Duration(1));
  EXPECT_LT(ask(Operation::kPeek, 0).remaining, 10);
  clock.advance(Duration(1));
  EXPECT_EQ(ask(Operation::kPeek, 0).remaining, 10);
}

// Peeks and denied requests change no later decision, even if the clock steps
// back, or a reload makes periods longer.
TEST_P(BoundTest, LookingChangesNothing) {
  const std::string rules = GetParam().rules;
  const Limit limit = limit_of("count: 10, period: 1s, " + rules);
  const Limit longer = limit_of("count: 10, period: 1m, " + rules);
  ManualClock clock;
  MemoryStore watched(1000, clock.clock());
  MemoryStore quiet(1000, clock.clock());
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    const Limit& one = random() % 20 == 0 ? longer : limit;
    const auto ask = [&](MemoryStore* store, Operation operation,
                         std::int64_t cost) {
      Request request(operation, {"a"});
      request.level(one, 1, cost).decide(store);
      return request.verdict(0);
    };
    ask(&watched, Operation::kPeek, static_cast<std::int64_t>(random() % 12));
    ask(&watched, Operation::kAuthorize, 0);
    const auto cost = static_cast<std::int64_t>(1 + random() % 3);
    const Verdict a = ask(&watched, Operation::kAuthorize, cost);
    const Verdict b = ask(&quiet, Operation::kAuthorize, cost);
    ASSERT_EQ(a.limited, b.limited) << i;
    ASSERT_EQ(a.remaining, b.remaining) << i;
    ASSERT_EQ(a.reset_after, b.reset_after) << i;
    ASSERT_EQ(a.next_after, b.next_after) << i;
    clock.advance(random() % 10 == 0 ? -milliseconds(random() % 3000)
                                     : milliseconds(random() % 400));
  }
}

INSTANTIATE_TEST_SUITE_P(All, BoundTest, testing::ValuesIn(kBounds),
                         [](const auto& one) { return one.param.name; });

// floor(previous x share inside) + current + cost, as in the documents.
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

// Its units are then those of the previous window, and still count.
TEST(SlidingTail, CountsForTwoWindows) {
  const Duration minute = seconds(60);
  const Instant now(seconds(90));
  SlidingTail tail({Instant(seconds(60)), 0, 3}, minute, false, now);
  EXPECT_EQ(tail.over(), Instant(seconds(120)));
  tail.add(1);
  EXPECT_EQ(tail.over(), Instant(seconds(180)));

  const Limit limit = limit_of("count: 3, period: 1m, algorithm: sliding_tail");
  ManualClock clock;
  MemoryStore store(1000, clock.clock());
  clock.set(now);
  Request(Operation::kAuthorize, {"a"}).level(limit, 1, 3).decide(&store);
  clock.set(Instant(seconds(180)) - Duration(1));
  EXPECT_EQ(store.stats().buckets, 1);
  clock.advance(Duration(1));
  EXPECT_EQ(store.stats().buckets, 0);
}

// After a reload the old ticks end within the new ones: a partly drained unit
// counts as used.
TEST(LeakyStep, RoundsUpWhatAnotherTickLeft) {
  const auto level = [](std::int64_t empty_ms, std::int64_t now_ms) {
    return LeakyStep(Instant(milliseconds(empty_ms)), milliseconds(100), 10,
                     Instant(milliseconds(now_ms)));
  };
  EXPECT_EQ(level(250, 100).used(), 2);
  EXPECT_EQ(level(250, 199).used(), 2);
  EXPECT_EQ(level(250, 200).used(), 1);
  EXPECT_EQ(level(250, 299).used(), 1);
  EXPECT_EQ(level(250, 300).used(), 0);
  EXPECT_EQ(level(200, 100).used(), 1);  // at a tick
  EXPECT_EQ(level(1100, 100).used(), 10);
  EXPECT_FALSE(level(1100, 100).is_ahead());
  EXPECT_TRUE(level(1101, 100).is_ahead());
}

// Counts and periods far beyond 2^53 when multiplied.
TEST(SlidingTail, HasRoomForLongProducts) {
  const Duration period = std::chrono::days(36000);
  const SlidingTail::State state{Instant(), kMaxUnits, 0};
  const SlidingTail tail(state, period, false, Instant(period + period / 2));
  EXPECT_EQ(tail.used(), kMaxUnits / 2);
  EXPECT_GT(tail.until(1), Instant(period + period / 2));
}

// All limits of a path decide in one step.
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

// The callers that owe least go first, and a limited caller stays limited.
TEST(Logs, TakeBoundedMemory) {
  const Limit limit =
      limit_of("count: 100, period: 1h, algorithm: sliding_log");
  ManualClock clock;
  constexpr std::int64_t kMaxBytes = 64'000;
  MemoryStore store(1000, clock.clock(), kMaxBytes);
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
  EXPECT_LE(stats.bytes, kMaxBytes);
  EXPECT_GT(stats.evictions, 0);
  EXPECT_EQ(stats.forgotten_limited, 0);
  EXPECT_TRUE(ask("limited"));
}

// Asks `units` times for each of `callers`, and returns what was allowed.
std::int64_t ask_each(MemoryStore* store, ManualClock* clock,
                      const Limit& limit, const std::string& kind, int callers,
                      int units) {
  std::int64_t allowed = 0;
  for (int unit = 0; unit < units; ++unit) {
    clock->advance(std::chrono::microseconds(1));
    for (int i = 0; i < callers; ++i) {
      Request request(Operation::kAuthorize, {kind + std::to_string(i)});
      allowed += request.level(limit, 1).decide(store).limited ? 0 : 1;
    }
  }
  return allowed;
}

// One in a hundred of max_buckets, each with a full log: there is room.
TEST(Logs, HaveRoomForAThousandUnits) {
  const Limit limit =
      limit_of("count: 1000, period: 1d, algorithm: sliding_log");
  ManualClock clock;
  MemoryStore store(30'000, clock.clock());
  EXPECT_EQ(ask_each(&store, &clock, limit, "a", 300, 1000), 300'000);
  EXPECT_EQ(ask_each(&store, &clock, limit, "a", 300, 1), 0);
  const StoreStats stats = store.stats();
  EXPECT_EQ(stats.evictions, 0);
  // The documents give these bytes for each unit, and for the rest of a log.
  EXPECT_GE(stats.bytes, 300 * 1000 * 12);
  EXPECT_LE(stats.bytes, 300 * (1000 * 15 + 60) + 16 * 4096);
}

// All shards share the bytes: no caller at a limit is evicted while there are
// callers below their limits, in whatever shards.
TEST(Logs, GiveUpTheLeastLimitedOfAllShards) {
  const Limit limit =
      limit_of("count: 100, period: 1d, algorithm: sliding_log");
  const Limit hour =
      limit_of("count: 50, period: 1h, algorithm: sliding_window");
  ManualClock clock;
  MemoryStore store(100'000, clock.clock(), 6'400'000);
  ASSERT_EQ(ask_each(&store, &clock, hour, "few", 400, 50), 20'000);
  ASSERT_EQ(ask_each(&store, &clock, limit, "many", 500, 100), 50'000);
  ask_each(&store, &clock, limit, "flood", 20'000, 3);
  EXPECT_EQ(ask_each(&store, &clock, hour, "few", 400, 1), 0);
  EXPECT_EQ(ask_each(&store, &clock, limit, "many", 500, 1), 0);
  const StoreStats stats = store.stats();
  EXPECT_GT(stats.evictions, 1000);
  EXPECT_EQ(stats.forgotten_limited, 0);
  EXPECT_LE(stats.bytes, 6'400'000);
}

// New callers take the memory of logs that are over.
TEST(Logs, GiveUpNothingInUseForWhatIsOver) {
  const Limit limit =
      limit_of("count: 100, period: 1m, algorithm: sliding_log");
  ManualClock clock;
  MemoryStore store(10'000, clock.clock(), 1'640'000);
  for (int round = 0; round < 5; ++round) {
    const std::string kind = std::to_string(round) + "/";
    ASSERT_EQ(ask_each(&store, &clock, limit, kind, 500, 100), 50'000);
    EXPECT_EQ(ask_each(&store, &clock, limit, kind, 500, 1), 0);
    clock.advance(std::chrono::minutes(1));
  }
  EXPECT_EQ(store.stats().evictions, 0);
}

TEST(Logs, CountTheLimitedThatAreForgotten) {
  const Limit limit =
      limit_of("count: 100, period: 1d, algorithm: sliding_log");
  ManualClock clock;
  MemoryStore store(1000, clock.clock(), 64'000);
  for (int i = 0; i < 100; ++i) {
    ask_each(&store, &clock, limit, std::to_string(i) + "/", 1, 100);
  }
  const StoreStats stats = store.stats();
  EXPECT_GT(stats.forgotten_limited, 80);
  EXPECT_GE(stats.evictions, stats.forgotten_limited);
  EXPECT_LE(stats.bytes, 64'000);
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

// A caller at a limit of any algorithm stays limited during a flood of keys
// that have used a third of much longer limits.
TEST(Algorithms, ForgetNoLimitedCallerForAFloodOfAny) {
  std::vector<std::string> kinds = {
      "algorithm: gcra, overrun: {percent: 20}",
      "algorithm: fixed_window, align: first",
  };
  for (const AlgorithmTraits& one : kAlgorithms) {
    kinds.push_back(std::string("algorithm: ") + one.rule);
  }
  std::vector<Limit> minutes;
  std::vector<Limit> days;
  for (const std::string& kind : kinds) {
    minutes.push_back(limit_of("count: 5, period: 1m, " + kind));
    days.push_back(limit_of("count: 3, period: 1d, " + kind));
  }
  ManualClock clock;
  MemoryStore store(1000, clock.clock());
  const auto ask = [&](const Limit& limit, const std::string& name) {
    return Request(Operation::kAuthorize, {name})
        .level(limit, 1)
        .decide(&store)
        .limited;
  };
  const auto name = [](std::size_t kind, int i) {
    return std::to_string(kind) + "/" + std::to_string(i);
  };
  for (std::size_t kind = 0; kind < std::size(kinds); ++kind) {
    for (int i = 0; i < 20; ++i) {
      for (int k = 0; k < 10; ++k) ask(minutes[kind], name(kind, i));
    }
  }
  for (int i = 0; i < 20'000; ++i) {
    const std::size_t kind = static_cast<std::size_t>(i) % std::size(kinds);
    ASSERT_FALSE(ask(days[kind], "flood" + std::to_string(i)));
    if (i % 2000 == 0) clock.advance(std::chrono::milliseconds(100));
  }
  for (std::size_t kind = 0; kind < std::size(kinds); ++kind) {
    for (int i = 0; i < 20; ++i) {
      EXPECT_TRUE(ask(minutes[kind], name(kind, i))) << kinds[kind] << i;
    }
  }
  EXPECT_GT(store.stats().evictions, 10'000);
  EXPECT_EQ(store.stats().forgotten_limited, 0);
}

// Used units of a window stay used if the new window contains them.
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
