// The cases that every store must pass, as a typed test suite.
//
// A store joins by a fixture with `Store* store()` and `advance(Duration)`,
// which moves the store's clock:
//   INSTANTIATE_TYPED_TEST_SUITE_P(Memory, StoreCases, MemoryFixture);

#ifndef LIMITREE_TESTS_CORE_STORE_STORE_CASES_HPP
#define LIMITREE_TESTS_CORE_STORE_STORE_CASES_HPP

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "base/decision.hpp"
#include "base/judge.hpp"
#include "base/plan.hpp"
#include "store/store.hpp"

namespace limitree {

inline Limit simple_limit(Duration emission_interval, std::int64_t capacity) {
  Limit limit;
  Result<Rate> rate = make_rate(1, emission_interval, capacity);
  EXPECT_TRUE(rate.ok()) << "a limit that limits.yaml would refuse";
  limit.rate = rate.value();
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

// 4000 of 5000 a day are used when it becomes 100 a second.
TYPED_TEST_P(StoreCases, ARelaxedLimitLocksNobodyOut) {
  const Limit strict = simple_limit(std::chrono::milliseconds(17'280), 5000);
  const Limit relaxed = simple_limit(std::chrono::milliseconds(10), 100);
  this->once(Operation::kAuthorize, strict, "a", 4000);
  this->fixture.store()->limits_changed();
  // A peek changes nothing.
  for (int i = 0; i < 2; ++i) {
    const Decision seen = this->once(Operation::kPeek, relaxed, "a");
    EXPECT_EQ(seen.retry_after, std::chrono::milliseconds(10));
    this->fixture.advance(std::chrono::milliseconds(10));
  }
  const Decision denied = this->once(Operation::kAuthorize, relaxed, "a");
  EXPECT_EQ(denied.retry_after, std::chrono::milliseconds(10));
  EXPECT_EQ(denied.reset_after, std::chrono::seconds(1));
  this->fixture.advance(denied.retry_after);
  EXPECT_FALSE(this->once(Operation::kAuthorize, relaxed, "a").limited);
  this->fixture.advance(std::chrono::seconds(1));
  EXPECT_EQ(this->once(Operation::kPeek, relaxed, "a", 0).remaining, 100);
}

// Each write reduces a debt to the capacity; nothing else does.
TYPED_TEST_P(StoreCases, WhoOwesTooMuchIsHeldByWhatWrites) {
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
  EXPECT_EQ(left_after_a_second("f", check, authorize, 1), 0);
  EXPECT_EQ(left_after_a_second("g", small, authorize, 0), 0);
  EXPECT_EQ(left_after_a_second("h", small, Operation::kPeek, 1), 0);
}

REGISTER_TYPED_TEST_SUITE_P(
    StoreCases, AdmitsTheCapacityAndThenOnePerInterval, KeepsBucketsApart,
    TellsSegmentsFromTheirConcatenation, TellsAPatternFromACallerOfThatName,
    ChargesAllLevelsOrNone, DecidesMoreLevelsThanUsual,
    PeekAndCostZeroStoreNothing, SpendNeverDeniesAndSaturates,
    RefundGivesBackUpToTheCapacity, RefundInFullForgetsTheBucket, ResetForgets,
    SurvivesAClockThatStepsBack, ARelaxedLimitLocksNobodyOut,
    WhoOwesTooMuchIsHeldByWhatWrites);

}  // namespace limitree

#endif  // LIMITREE_TESTS_CORE_STORE_STORE_CASES_HPP
