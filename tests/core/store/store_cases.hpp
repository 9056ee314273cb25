// The cases that every store must pass, as a typed test suite.
//
// A store joins by a fixture with `Store* store()` and `advance(Duration)`,
// which moves the store's clock:
//   INSTANTIATE_TYPED_TEST_SUITE_P(Memory, StoreCases, MemoryFixture);

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/decision.hpp"
#include "base/judge.hpp"
#include "base/plan.hpp"
#include "core/base/hits.hpp"
#include "store/store.hpp"

namespace limitree {

inline Limit simple_limit(Duration emission_interval, std::int64_t capacity) {
  Limit limit;
  Result<Rate> rate = make_rate(1, emission_interval, capacity);
  EXPECT_TRUE(rate.ok()) << "a limit that limits.yaml would refuse";
  limit.rate = rate.value();
  return limit;
}

// A limit of any algorithm: what it admits at once is its count.
inline Limit limit_of(Algorithm algorithm, std::int64_t count,
                      Duration period) {
  Limit limit;
  Result<Rate> rate = make_rate(count, period, count);
  EXPECT_TRUE(rate.ok()) << "a limit that limits.yaml would refuse";
  limit.rate = rate.value();
  limit.count = count;
  limit.period = period;
  limit.algorithm = algorithm;
  if (algorithm == Algorithm::kGcra) return limit;
  Rules rules;
  if (algorithm == Algorithm::kSlidingWindow) rules.bucket = period / 10;
  limit.rules = std::make_shared<const Rules>(rules);
  limit.suffix = traits_of(algorithm).suffix;
  return limit;
}

// A request over nested levels, with a segment for each.
class Request {
 public:
  Request(Operation operation, std::vector<std::string> path)
      : path_(std::move(path)), plan_(operation) {
    for (const std::string& segment : path_) {
      plan_.segments.emplace_back(segment, Segment::Kind::kCaller);
    }
  }

  // Adds a level whose bucket is named by the first `depth` segments.
  Request& level(const Limit& limit, std::uint32_t depth,
                 std::int64_t cost = 1) {
    plan_.add_level(&limit, 0u, depth, cost);
    return *this;
  }

  // Asks for units of requests that are to come.
  void lease(std::int64_t most, std::int64_t parts) {
    plan_.lease.most = most;
    plan_.lease.parts = parts;
  }

  Decision decide(Store* store) {
    EXPECT_TRUE(store->decide(&plan_).ok());
    return aggregate(plan_);
  }

  const Plan& plan() const { return plan_; }
  const Verdict& verdict(std::size_t i) const {
    return plan_.levels[i].verdict;
  }

 private:
  const std::vector<std::string> path_;
  Plan plan_;
};

template <typename Fixture>
class StoreCases : public testing::Test {
 protected:
  Fixture fixture;

  Decision once(Operation operation, const Limit& limit,
                const std::string& name, std::int64_t cost = 1) {
    return Request(operation, {name})
        .level(limit, 1, cost)
        .decide(fixture.store());
  }
};

TYPED_TEST_SUITE_P(StoreCases);

TYPED_TEST_P(StoreCases, AdmitsTheCapacityAndThenOnePerInterval) {
  const Limit limit = simple_limit(std::chrono::seconds(1), 3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(this->once(Operation::kAuthorize, limit, "a").limited);
  }
  const Decision denied = this->once(Operation::kAuthorize, limit, "a");
  EXPECT_TRUE(denied.limited);
  EXPECT_EQ(denied.retry_after, std::chrono::seconds(1));

  this->fixture.advance(std::chrono::seconds(1) - Duration(1));
  EXPECT_TRUE(this->once(Operation::kAuthorize, limit, "a").limited);
  this->fixture.advance(Duration(1));
  EXPECT_FALSE(this->once(Operation::kAuthorize, limit, "a").limited);
  EXPECT_TRUE(this->once(Operation::kAuthorize, limit, "a").limited);
}

TYPED_TEST_P(StoreCases, KeepsBucketsApart) {
  const Limit limit = simple_limit(std::chrono::seconds(1), 1);
  EXPECT_FALSE(this->once(Operation::kAuthorize, limit, "a").limited);
  EXPECT_FALSE(this->once(Operation::kAuthorize, limit, "b").limited);
  EXPECT_TRUE(this->once(Operation::kAuthorize, limit, "a").limited);

  Limit named = limit;
  named.suffix = "#daily";
  EXPECT_FALSE(this->once(Operation::kAuthorize, named, "a").limited);
  EXPECT_TRUE(this->once(Operation::kAuthorize, named, "a").limited);
}

TYPED_TEST_P(StoreCases, TellsSegmentsFromTheirConcatenation) {
  const Limit limit = simple_limit(std::chrono::seconds(1), 1);
  const std::vector<std::vector<std::string>> paths = {
      {"ab", "c"},
      {"a", "bc"},
      {"abc", ""},
      {"", "abc"},
      {"ab:c", ""},
      {"abcdefg", "hi"},
      {"abcdefgh", "i"},
      {"abcdefghi", ""},
      {std::string(3, '\0'), ""},
      {"", "\1"},
      {std::string(2, '\0'), ""}};
  for (const auto& path : paths) {
    EXPECT_FALSE(Request(Operation::kAuthorize, path)
                     .level(limit, 2)
                     .decide(this->fixture.store())
                     .limited);
  }
}

TYPED_TEST_P(StoreCases, TellsAPatternFromACallerOfThatName) {
  const Limit limit = simple_limit(std::chrono::seconds(1), 1);
  for (const auto kind : {Segment::Kind::kCaller, Segment::Kind::kPattern}) {
    Plan plan(Operation::kAuthorize);
    plan.segments.emplace_back("files*", kind);
    plan.add_level(&limit, 0u, 1u, 1);
    ASSERT_TRUE(this->fixture.store()->decide(&plan).ok());
    EXPECT_FALSE(plan.levels[0].verdict.limited);
  }
}

TYPED_TEST_P(StoreCases, ChargesAllLevelsOrNone) {
  const Limit outer = simple_limit(std::chrono::seconds(1), 10);
  const Limit inner = simple_limit(std::chrono::seconds(1), 2);
  for (int i = 0; i < 5; ++i) {
    Request(Operation::kAuthorize, {"alex", "trade"})
        .level(outer, 1)
        .level(inner, 2)
        .decide(this->fixture.store());
  }
  EXPECT_EQ(this->once(Operation::kPeek, outer, "alex", 0).remaining, 8);
}

TYPED_TEST_P(StoreCases, DecidesMoreLevelsThanUsual) {
  const Limit limit = simple_limit(std::chrono::seconds(1), 2);
  const std::vector<std::string> path(40, "deep");
  for (const std::int64_t left : {1, 0, -1}) {
    Request request(Operation::kAuthorize, path);
    for (std::uint32_t depth = 1; depth <= 40; ++depth) {
      request.level(limit, depth);
    }
    const Decision decision = request.decide(this->fixture.store());
    EXPECT_EQ(decision.limited, left < 0);
    for (std::size_t i = 0; i < 40; ++i) {
      EXPECT_EQ(request.verdict(i).remaining, std::max(left, std::int64_t{0}));
    }
  }
}

TYPED_TEST_P(StoreCases, PeekAndCostZeroStoreNothing) {
  const Limit limit = simple_limit(std::chrono::seconds(1), 2);
  this->once(Operation::kPeek, limit, "a");
  this->once(Operation::kAuthorize, limit, "a", 0);
  EXPECT_EQ(this->once(Operation::kPeek, limit, "a", 0).reset_after,
            Duration(0));
  EXPECT_EQ(this->fixture.store()->stats().buckets, 0);
}

TYPED_TEST_P(StoreCases, SpendNeverDeniesAndSaturates) {
  const Limit limit = simple_limit(std::chrono::seconds(1), 2);
  EXPECT_FALSE(this->once(Operation::kSpend, limit, "a", 100).limited);
  const Decision denied = this->once(Operation::kAuthorize, limit, "a");
  EXPECT_TRUE(denied.limited);
  EXPECT_EQ(denied.retry_after, std::chrono::seconds(1));
}

TYPED_TEST_P(StoreCases, RefundGivesBackUpToTheCapacity) {
  const Limit limit = simple_limit(std::chrono::seconds(1), 2);
  this->once(Operation::kAuthorize, limit, "a", 2);
  EXPECT_EQ(this->once(Operation::kRefund, limit, "a", 1).remaining, 1);
  EXPECT_EQ(this->once(Operation::kRefund, limit, "a", 100).remaining, 2);
  EXPECT_EQ(this->once(Operation::kRefund, limit, "new", 1).remaining, 2);
}

// A full refund removes the state, and it does not come back with the clock.
TYPED_TEST_P(StoreCases, RefundInFullForgetsTheBucket) {
  const Limit limit = simple_limit(std::chrono::seconds(1), 2);
  this->once(Operation::kAuthorize, limit, "a", 2);
  this->once(Operation::kRefund, limit, "a", 2);
  this->fixture.advance(-std::chrono::seconds(10));
  EXPECT_EQ(this->once(Operation::kPeek, limit, "a", 0).remaining, 2);
}

TYPED_TEST_P(StoreCases, ResetForgets) {
  const Limit limit = simple_limit(std::chrono::seconds(1), 1);
  this->once(Operation::kAuthorize, limit, "a");
  this->once(Operation::kAuthorize, limit, "b");
  Request request(Operation::kRefund, {"a"});
  request.level(limit, 1);
  ASSERT_TRUE(this->fixture.store()->reset(request.plan()).ok());
  EXPECT_FALSE(this->once(Operation::kAuthorize, limit, "a").limited);
  EXPECT_TRUE(this->once(Operation::kAuthorize, limit, "b").limited);
}

// The clock stepped back: at worst the bucket is empty, and fills from now on.
TYPED_TEST_P(StoreCases, SurvivesAClockThatStepsBack) {
  const Limit limit = simple_limit(std::chrono::seconds(1), 4);
  this->once(Operation::kAuthorize, limit, "a", 2);
  this->fixture.advance(-std::chrono::hours(2));
  const Decision denied = this->once(Operation::kAuthorize, limit, "a");
  EXPECT_TRUE(denied.limited);
  EXPECT_EQ(denied.retry_after, std::chrono::seconds(1));
  this->fixture.advance(std::chrono::seconds(1) - Duration(1));
  EXPECT_TRUE(this->once(Operation::kAuthorize, limit, "a").limited);
  this->fixture.advance(Duration(1));
  EXPECT_FALSE(this->once(Operation::kAuthorize, limit, "a").limited);
  EXPECT_EQ(this->once(Operation::kPeek, limit, "a", 0).remaining, 0);
}

// Its entries, dated after now, are moved to now, and it stays as it is.
TYPED_TEST_P(StoreCases, AFullLogIsHeldThoughAnotherLevelDenies) {
  const Limit log =
      limit_of(Algorithm::kSlidingLog, 10, std::chrono::seconds(1));
  const Limit two = limit_of(Algorithm::kGcra, 2, std::chrono::hours(1));
  const auto both = [&] {
    Request request(Operation::kAuthorize, {"a", "b"});
    return request.level(log, 1).level(two, 2).decide(this->fixture.store());
  };
  EXPECT_FALSE(both().limited);
  this->fixture.advance(std::chrono::milliseconds(1));
  EXPECT_FALSE(both().limited);
  this->fixture.advance(-std::chrono::hours(2));
  EXPECT_TRUE(both().limited);
  for (int i = 0; i < 8; ++i) {
    EXPECT_FALSE(this->once(Operation::kAuthorize, log, "a").limited);
    this->fixture.advance(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(this->once(Operation::kAuthorize, log, "a").limited);
  this->fixture.advance(std::chrono::seconds(1));
  EXPECT_FALSE(this->once(Operation::kAuthorize, log, "a", 10).limited);
}

// 4000 of 5000 a day are used when it becomes 100 a second.
TYPED_TEST_P(StoreCases, ARelaxedLimitLocksNobodyOut) {
  const Limit strict = simple_limit(std::chrono::milliseconds(17'280), 5000);
  const Limit relaxed = simple_limit(std::chrono::milliseconds(10), 100);
  this->once(Operation::kAuthorize, strict, "a", 4000);
  this->fixture.store()->limits_changed();
  const Decision denied = this->once(Operation::kAuthorize, relaxed, "a");
  EXPECT_EQ(denied.retry_after, std::chrono::milliseconds(10));
  EXPECT_EQ(denied.reset_after, std::chrono::seconds(1));
  this->fixture.advance(denied.retry_after);
  EXPECT_FALSE(this->once(Operation::kAuthorize, relaxed, "a").limited);
  this->fixture.advance(std::chrono::seconds(1));
  EXPECT_EQ(this->once(Operation::kPeek, relaxed, "a", 0).remaining, 100);
}

// A login asks first, and spends if it has failed.  Its limit was 1 a day.
TYPED_TEST_P(StoreCases, WhoOnlyPeeksIsNotLockedOutByARelaxedLimit) {
  const Limit strict = simple_limit(std::chrono::hours(24), 1);
  const Limit relaxed = simple_limit(std::chrono::seconds(1), 1);
  this->once(Operation::kSpend, strict, "a");
  this->fixture.store()->limits_changed();
  const Decision denied = this->once(Operation::kPeek, relaxed, "a");
  EXPECT_EQ(denied.retry_after, std::chrono::seconds(1));
  this->fixture.advance(denied.retry_after);
  EXPECT_FALSE(this->once(Operation::kPeek, relaxed, "a").limited);
  EXPECT_FALSE(this->once(Operation::kSpend, relaxed, "a").limited);
  EXPECT_TRUE(this->once(Operation::kPeek, relaxed, "a").limited);
}

// Whatever meets such a bucket reduces its debt to the capacity; only a look
// from outside does not.
TYPED_TEST_P(StoreCases, WhoOwesTooMuchIsHeldByWhateverMeetsIt) {
  const Limit large = simple_limit(std::chrono::hours(1), 100);
  Limit small = simple_limit(std::chrono::seconds(1), 5);
  Limit shadow = small;
  shadow.mode = Mode::kShadow;
  Limit check = small;
  check.mode = Mode::kCheck;
  const auto left_after_a_second = [&](const std::string& name,
                                       const Limit& limit, Operation operation,
                                       std::int64_t cost) {
    this->once(Operation::kAuthorize, large, name, 100);
    this->once(operation, limit, name, cost);
    this->fixture.advance(std::chrono::seconds(1));
    return this->once(Operation::kPeek, small, name, 0).remaining;
  };
  const auto authorize = Operation::kAuthorize;
  EXPECT_EQ(left_after_a_second("a", small, authorize, 1), 1);
  EXPECT_EQ(left_after_a_second("b", small, authorize, 6), 1);  // never fits
  EXPECT_EQ(left_after_a_second("c", small, Operation::kSpend, 1), 1);
  EXPECT_EQ(left_after_a_second("d", small, Operation::kRefund, 1), 2);
  EXPECT_EQ(left_after_a_second("e", shadow, authorize, 1), 1);
  EXPECT_EQ(left_after_a_second("f", small, Operation::kLook, 1), 0);
  EXPECT_EQ(left_after_a_second("g", small, Operation::kLook, 0), 0);
  int name = 0;
  for (const Operation operation :
       {authorize, Operation::kPeek, Operation::kSpend, Operation::kRefund}) {
    for (const Limit* limit : {&small, &check}) {
      for (const std::int64_t cost : {0, 1}) {
        const bool charges = limit == &small && cost > 0;
        if (operation == Operation::kRefund && charges) continue;
        EXPECT_EQ(left_after_a_second(std::to_string(++name), *limit, operation,
                                      cost),
                  1)
            << static_cast<int>(operation) << " " << charges;
      }
    }
  }
}

// The clock stepped back: what is dated after now is moved to now by whatever
// meets it, in every algorithm, and so has worn off when its time has passed.
TYPED_TEST_P(StoreCases, WhatIsDatedAfterNowIsMovedByWhateverMeetsIt) {
  using std::chrono::hours;
  using std::chrono::seconds;
  int name = 0;
  const auto left_at_last = [&](Limit limit, Operation operation,
                                std::int64_t cost, bool other_denies) {
    const std::string path = std::to_string(++name);
    const Limit tight = simple_limit(hours(100), 1);
    this->once(Operation::kAuthorize, limit, path, 10);
    if (other_denies) {
      Request(Operation::kSpend, {path, "b"})
          .level(tight, 2)
          .decide(this->fixture.store());
    }
    this->fixture.advance(-hours(2));
    Request meets(operation, {path, "b"});
    meets.level(limit, 1, cost);
    if (other_denies) meets.level(tight, 2, cost);
    meets.decide(this->fixture.store());
    // A period after the next one begins.
    this->fixture.advance(seconds(3));
    limit.mode = Mode::kEnforce;
    return this->once(Operation::kPeek, limit, path, 0).remaining;
  };
  for (const AlgorithmTraits& traits : kAlgorithms) {
    Limit limit = limit_of(traits.algorithm, 10, seconds(1));
    EXPECT_EQ(left_at_last(limit, Operation::kAuthorize, 1, true), 10);
    for (const Mode mode : {Mode::kEnforce, Mode::kCheck}) {
      limit.mode = mode;
      for (const Operation operation :
           {Operation::kAuthorize, Operation::kPeek, Operation::kSpend,
            Operation::kRefund}) {
        for (const std::int64_t cost : {0, 1}) {
          EXPECT_EQ(left_at_last(limit, operation, cost, false), 10)
              << traits.name << ", mode " << mode_name(mode) << ", operation "
              << static_cast<int>(operation) << ", cost " << cost;
        }
      }
    }
  }
}

// One request to counters of different callers, which may be on different
// servers.
class HitRequest {
 public:
  explicit HitRequest(Operation operation = Operation::kAuthorize)
      : plan_(operation) {}

  HitRequest& hit(const Limit& limit, const std::string& name,
                  std::int64_t cost = 1) {
    names_.push_back(name);
    const auto first = static_cast<std::uint32_t>(plan_.segments.size());
    plan_.segments.emplace_back(names_.back(), Segment::Kind::kCaller);
    plan_.add_level(&limit, first, 1u, cost);
    return *this;
  }
  // Names of several counters may be the same.
  void join() { EXPECT_TRUE(join_same_buckets(&plan_).ok()); }
  void deny() { plan_.denied = true; }
  Decision decide(Store* store) {
    EXPECT_TRUE(store->decide(&plan_).ok());
    return aggregate(plan_);
  }
  const Level& level(std::size_t i) const { return plan_.levels[i]; }
  Hits hits(std::size_t i) const { return hits_of(level(i)); }

 private:
  std::deque<std::string> names_;
  Plan plan_;
};

inline Limit hour_counter(std::int64_t count,
                          Charge charge = Charge::kEveryHit) {
  Limit limit = make_counter(count, std::chrono::hours(1));
  limit.charge = charge;
  return limit;
}

TYPED_TEST_P(StoreCases, CountsEveryHitAndDeniesByWhatItLeaves) {
  const Limit limit = hour_counter(3);
  std::int64_t before = 0;
  for (const std::int64_t cost : {2, 0, 1, 0, 4, 0, 1}) {
    HitRequest request;
    request.hit(limit, "a", cost);
    const Decision decision = request.decide(this->fixture.store());
    EXPECT_EQ(decision.limited, before + cost > 3);
    EXPECT_EQ(decision.limit, 3);
    EXPECT_EQ(decision.remaining, std::max<std::int64_t>(3 - before - cost, 0));
    EXPECT_EQ(request.level(0).verdict.charged, cost > 0);
    EXPECT_EQ(request.hits(0).before, before);
    before += cost;
    EXPECT_EQ(request.hits(0).after, before);
  }
  EXPECT_EQ(before, 8);
}

// Callers are told when the window ends, also if they only look.
TYPED_TEST_P(StoreCases, CountersTellWhenTheirWindowEnds) {
  const Limit limit = hour_counter(1);
  this->fixture.advance(std::chrono::minutes(10));
  HitRequest empty;
  empty.hit(limit, "a", 0);
  const Duration left = empty.decide(this->fixture.store()).reset_after;
  EXPECT_GT(left, Duration(0));
  EXPECT_LE(left, std::chrono::hours(1));
  HitRequest full;
  full.hit(limit, "a", 2);
  const Decision denied = full.decide(this->fixture.store());
  EXPECT_EQ(denied.reset_after, left);
  EXPECT_EQ(denied.retry_after, kNever) << "2 of 1";
  HitRequest again;
  again.hit(limit, "a");
  EXPECT_EQ(again.decide(this->fixture.store()).retry_after, left);
  this->fixture.advance(left - Duration(1));
  EXPECT_TRUE(
      HitRequest().hit(limit, "a").decide(this->fixture.store()).limited);
  this->fixture.advance(Duration(1));
  HitRequest next;
  EXPECT_FALSE(next.hit(limit, "a").decide(this->fixture.store()).limited);
  EXPECT_EQ(next.hits(0).before, 0);
}

// Whatever hits come in a window, each finds the sum of those before it.
TYPED_TEST_P(StoreCases, CountersAddUpExactly) {
  const Limit limits[] = {hour_counter(20), hour_counter(0),
                          hour_counter(1000)};
  constexpr std::string_view kNames[] = {"a", "b", "c"};
  std::int64_t used[3] = {};
  std::mt19937 random(1);
  const auto up_to = [&random](std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(0, most)(random);
  };
  Duration left{};  // of the window, once known
  for (int i = 0; i < 400; ++i) {
    const auto operation = up_to(5) == 0   ? Operation::kRefund
                           : up_to(9) == 0 ? Operation::kSpend
                           : up_to(9) == 0 ? Operation::kPeek
                                           : Operation::kAuthorize;
    HitRequest request(operation);
    std::vector<std::pair<std::size_t, std::int64_t>> asked;
    for (std::size_t k = 0; k < 3; ++k) {
      if (up_to(2) == 0) continue;
      const std::int64_t cost = up_to(4) == 0 ? up_to(50) : up_to(2);
      asked.emplace_back(k, cost);
      request.hit(limits[k], std::string(kNames[k]), cost);
    }
    if (asked.empty()) continue;
    request.decide(this->fixture.store());
    for (std::size_t at = 0; at < asked.size(); ++at) {
      const auto [k, cost] = asked[at];
      const Verdict& verdict = request.level(at).verdict;
      ASSERT_EQ(request.level(at).before, used[k]) << i;
      const bool decides =
          operation == Operation::kAuthorize || operation == Operation::kPeek;
      ASSERT_EQ(verdict.limited,
                decides && used[k] + cost > limits[k].rate.capacity)
          << i;
      const std::int64_t after = operation == Operation::kRefund
                                     ? std::max<std::int64_t>(used[k] - cost, 0)
                                     : used[k] + cost;
      ASSERT_EQ(verdict.remaining,
                std::max<std::int64_t>(limits[k].rate.capacity - after, 0))
          << i;
      if (operation != Operation::kPeek) used[k] = after;
    }
    left = request.level(0).verdict.reset_after;
    const Duration step = std::chrono::seconds(up_to(60));
    if (step >= left) std::ranges::fill(used, 0);
    this->fixture.advance(step);
  }
}

// A denial elsewhere takes nothing back.
TYPED_TEST_P(StoreCases, CountersCountWhateverOthersSay) {
  const Limit tight = hour_counter(1);
  const Limit wide = hour_counter(100);
  for (int i = 0; i < 4; ++i) {
    HitRequest request;
    for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
      request.hit(name[0] == 'c' ? tight : wide, name);
    }
    EXPECT_EQ(request.decide(this->fixture.store()).limited, i > 0);
    for (std::size_t k = 0; k < 6; ++k) {
      EXPECT_EQ(request.hits(k).before, i) << k;
      EXPECT_TRUE(request.level(k).verdict.charged);
      EXPECT_EQ(request.level(k).verdict.limited, k == 2 && i > 0);
      EXPECT_EQ(request.level(k).verdict.remaining, k == 2 ? 0 : 99 - i);
    }
  }
}

// Each hit is compared by itself, and finds its counter as the hits before it
// leave it.
TYPED_TEST_P(StoreCases, CountersThatDenyMayBeMetAgain) {
  const Limit limit = hour_counter(3, Charge::kAllOrDenying);
  const auto used = [&](const char* name) {
    HitRequest look;
    look.hit(limit, name, 0).decide(this->fixture.store());
    return look.level(0).before;
  };
  HitRequest none_over;
  none_over.hit(limit, "a", 2).hit(limit, "b", 1).hit(limit, "a", 2).join();
  EXPECT_FALSE(none_over.decide(this->fixture.store()).limited);
  EXPECT_TRUE(none_over.level(2).again);
  EXPECT_EQ(used("a"), 4);
  EXPECT_EQ(used("b"), 1);
  HitRequest some_over;
  some_over.hit(limit, "b", 2).hit(limit, "a", 1).hit(limit, "b", 3);
  some_over.hit(limit, "a", 5).join();
  EXPECT_TRUE(some_over.decide(this->fixture.store()).limited);
  EXPECT_FALSE(some_over.level(0).verdict.charged);
  EXPECT_EQ(used("a"), 10);
  EXPECT_EQ(used("b"), 4);
}

TYPED_TEST_P(StoreCases, DenialsOfOthersStopCounters) {
  const Limit limit = hour_counter(3, Charge::kAllOrDenying);
  HitRequest request;
  const Limit every = hour_counter(5);
  request.hit(limit, "a", 1).hit(limit, "b", 9).hit(every, "c", 1).deny();
  EXPECT_TRUE(request.decide(this->fixture.store()).limited);
  EXPECT_FALSE(request.level(0).verdict.charged);
  EXPECT_TRUE(request.level(1).verdict.charged);
  EXPECT_TRUE(request.level(2).verdict.charged);
  HitRequest look;
  look.hit(limit, "a", 0).hit(limit, "b", 0).decide(this->fixture.store());
  EXPECT_EQ(look.level(0).before, 0);
  EXPECT_EQ(look.level(1).before, 9);
}

// Only the counter that denies goes on counting.
TYPED_TEST_P(StoreCases, CountersThatDenyCountAlone) {
  const Limit tight = hour_counter(1, Charge::kAllOrDenying);
  const Limit wide = hour_counter(100, Charge::kAllOrDenying);
  const Limit every = hour_counter(100);
  for (int i = 0; i < 4; ++i) {
    HitRequest request;
    for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
      request.hit(name[0] == 'c' ? tight : name[0] == 'e' ? every : wide, name);
    }
    EXPECT_EQ(request.decide(this->fixture.store()).limited, i > 0);
    for (std::size_t k = 0; k < 6; ++k) {
      const bool counts = k == 2 || k == 4;
      EXPECT_EQ(request.level(k).before, counts ? i : std::min(i, 1)) << k;
      EXPECT_EQ(request.level(k).verdict.charged, counts || i == 0) << k;
    }
    HitRequest look;
    look.hit(wide, "a", 0).hit(wide, "f", 0).decide(this->fixture.store());
    EXPECT_EQ(look.level(0).before, 1);
    EXPECT_EQ(look.level(1).before, 1);
  }
}

// The other rules of a mixed request stay: all or nothing is denied by a
// counter, and gets back what it was charged in another slot.
TYPED_TEST_P(StoreCases, CountersDenyLevelsOfOtherCharges) {
  const Limit tight = hour_counter(1);
  const Limit bucket = simple_limit(std::chrono::seconds(1), 10);
  for (int i = 0; i < 3; ++i) {
    HitRequest request;
    request.hit(bucket, "a").hit(tight, "b").hit(bucket, "c");
    EXPECT_EQ(request.decide(this->fixture.store()).limited, i > 0);
    EXPECT_EQ(request.hits(1).before, i);
    for (const std::size_t k : {0u, 2u}) {
      EXPECT_EQ(request.level(k).verdict.charged, i == 0);
      EXPECT_EQ(request.level(k).verdict.remaining, 9);
    }
  }
  EXPECT_EQ(this->once(Operation::kPeek, bucket, "a", 0).remaining, 9);
}

TYPED_TEST_P(StoreCases, RefundsOfHitsStopAtNothing) {
  const Limit limit = hour_counter(3);
  HitRequest absent(Operation::kRefund);
  absent.hit(limit, "a", 5).decide(this->fixture.store());
  EXPECT_FALSE(absent.level(0).verdict.charged);
  EXPECT_EQ(this->fixture.store()->stats().buckets, 0);

  HitRequest().hit(limit, "a", 9).decide(this->fixture.store());
  HitRequest some(Operation::kRefund);
  EXPECT_FALSE(some.hit(limit, "a", 4).decide(this->fixture.store()).limited);
  EXPECT_EQ(some.level(0).before, 9);
  HitRequest look;
  EXPECT_TRUE(look.hit(limit, "a", 0).decide(this->fixture.store()).limited);
  EXPECT_EQ(look.level(0).before, 5);
  HitRequest(Operation::kRefund)
      .hit(limit, "a", 100)
      .decide(this->fixture.store());
  HitRequest after;
  EXPECT_EQ(after.hit(limit, "a").decide(this->fixture.store()).remaining, 2);
  EXPECT_EQ(after.level(0).before, 0);
}

TYPED_TEST_P(StoreCases, CountersHoldAsMuchAsTheyCan) {
  const Limit limit = hour_counter(kMaxUnits);
  const auto hit = [&](std::int64_t cost) {
    HitRequest request;
    request.hit(limit, "a", cost).decide(this->fixture.store());
    return request.level(0);
  };
  EXPECT_FALSE(hit(kMaxUnits - 1).verdict.limited);
  EXPECT_FALSE(hit(1).verdict.limited);
  const Level full = hit(1);
  EXPECT_EQ(full.before, kMaxUnits);
  EXPECT_TRUE(full.verdict.limited);
  EXPECT_TRUE(hit(INT64_MAX).verdict.limited);
  EXPECT_EQ(hit(0).before, kMaxUnits);
  EXPECT_FALSE(hit(0).verdict.limited) << "as much as the limit admits";
}

// The clock stepped back: the hits of a later window count in this one.
TYPED_TEST_P(StoreCases, CountersSurviveAClockThatStepsBack) {
  const Limit limit = hour_counter(3);
  HitRequest().hit(limit, "a", 5).decide(this->fixture.store());
  this->fixture.advance(-std::chrono::hours(3));
  HitRequest denied;
  const Decision decision =
      denied.hit(limit, "a").decide(this->fixture.store());
  EXPECT_TRUE(decision.limited);
  EXPECT_EQ(denied.hits(0).after, 6);
  EXPECT_LE(decision.retry_after, std::chrono::hours(1));
  this->fixture.advance(decision.retry_after);
  HitRequest next;
  EXPECT_FALSE(next.hit(limit, "a").decide(this->fixture.store()).limited);
  EXPECT_EQ(next.level(0).before, 0);
}

// The verdicts are those of the request; the buckets hold all that was granted.
TYPED_TEST_P(StoreCases, GrantsUnitsOfAllLevels) {
  Limit outer = simple_limit(std::chrono::seconds(1), 100);
  outer.lease = std::chrono::seconds(10);
  outer.cost = 2;
  Limit inner = limit_of(Algorithm::kFixedWindow, 30, std::chrono::hours(1));
  inner.lease = std::chrono::seconds(10);
  const auto ask = [&](std::int64_t most, std::int64_t cost, bool limited) {
    Request request(Operation::kAuthorize, {"lease", "b"});
    request.level(outer, 1, 2 * cost).level(inner, 2, cost);
    request.lease(most, 2);
    EXPECT_EQ(request.decide(this->fixture.store()).limited, limited);
    return std::array{request.plan().lease.granted,
                      request.verdict(0).remaining,
                      request.verdict(1).remaining};
  };
  const auto left = [&] {
    Request request(Operation::kPeek, {"lease", "b"});
    request.level(outer, 1, 0).level(inner, 2, 0);
    request.decide(this->fixture.store());
    return std::array{request.verdict(0).remaining,
                      request.verdict(1).remaining};
  };
  using Three = std::array<std::int64_t, 3>;
  using Two = std::array<std::int64_t, 2>;
  EXPECT_EQ(ask(5, 1, false), (Three{5, 98, 29}));
  EXPECT_EQ(left(), (Two{88, 24}));
  // Half of the 22 that are free after its own cost.
  EXPECT_EQ(ask(50, 2, false), (Three{11, 84, 22}));
  EXPECT_EQ(left(), (Two{62, 11}));
  // A denied request takes nothing.
  EXPECT_EQ(ask(50, 12, true), (Three{0, 62, 11}));
  EXPECT_EQ(left(), (Two{62, 11}));
  EXPECT_EQ(ask(0, 1, false), (Three{0, 60, 10}));
}

REGISTER_TYPED_TEST_SUITE_P(
    StoreCases, AdmitsTheCapacityAndThenOnePerInterval, KeepsBucketsApart,
    TellsSegmentsFromTheirConcatenation, TellsAPatternFromACallerOfThatName,
    ChargesAllLevelsOrNone, DecidesMoreLevelsThanUsual,
    PeekAndCostZeroStoreNothing, SpendNeverDeniesAndSaturates,
    RefundGivesBackUpToTheCapacity, RefundInFullForgetsTheBucket, ResetForgets,
    SurvivesAClockThatStepsBack, AFullLogIsHeldThoughAnotherLevelDenies,
    ARelaxedLimitLocksNobodyOut, WhoOnlyPeeksIsNotLockedOutByARelaxedLimit,
    WhoOwesTooMuchIsHeldByWhateverMeetsIt,
    WhatIsDatedAfterNowIsMovedByWhateverMeetsIt,
    CountsEveryHitAndDeniesByWhatItLeaves, CountersTellWhenTheirWindowEnds,
    CountersAddUpExactly, CountersCountWhateverOthersSay,
    CountersThatDenyCountAlone, CountersThatDenyMayBeMetAgain,
    DenialsOfOthersStopCounters, CountersDenyLevelsOfOtherCharges,
    RefundsOfHitsStopAtNothing, CountersHoldAsMuchAsTheyCan,
    CountersSurviveAClockThatStepsBack, GrantsUnitsOfAllLevels);

}  // namespace limitree
