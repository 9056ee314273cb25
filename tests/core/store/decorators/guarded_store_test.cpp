#include "store/decorators/guarded_store.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <thread>

#include "core/store/fake_store.hpp"
#include "core/store/store_cases.hpp"

namespace limitree::guarded_store_test {
namespace {

using std::chrono::seconds;

class Fixture {
 public:
  Store* store() { return &store_; }
  void advance(Duration by) { clock_.advance(by); }

 private:
  ManualClock clock_;
  GuardedStore store_{std::make_unique<MemoryStore>(1000, clock_.clock()),
                      OnStoreError::kDeny, nullptr};
};

INSTANTIATE_TYPED_TEST_SUITE_P(Guarded, StoreCases, Fixture);

class GuardedStoreTest : public testing::Test {
 protected:
  GuardedStore& guarded(OnStoreError on_error) {
    std::unique_ptr<Store> local;
    if (on_error == OnStoreError::kLocal) {
      local = std::make_unique<MemoryStore>(1000, clock.clock());
    }
    store = new FakeStore(&clock);
    guarded_ = std::make_unique<GuardedStore>(std::unique_ptr<Store>(store),
                                              on_error, std::move(local));
    return *guarded_;
  }

  Decision decide(std::int64_t cost = 1,
                  Operation operation = Operation::kAuthorize) {
    Request request(operation, {"alex", "trade"});
    request.level(outer, 1, cost).level(inner, 2, cost);
    const Decision decision = request.decide(guarded_.get());
    charged = request.verdict(0).charged || request.verdict(1).charged;
    return decision;
  }

  Status status_of(Code code, const char* reason = "") {
    store->fail(code, reason);
    Plan plan(Operation::kAuthorize);
    plan.segments.emplace_back("alex", Segment::Kind::kCaller);
    plan.add_level(&outer, 0u, 1u, 1);
    return guarded_->decide(&plan);
  }

  std::map<std::string, std::int64_t> errors() {
    std::map<std::string, std::int64_t> all;
    for (const ReasonCount& error : guarded_->stats().errors) {
      all[error.reason] = error.count;
    }
    return all;
  }

  Limit outer = simple_limit(seconds(1), 16);
  Limit inner = simple_limit(seconds(1), 8);
  ManualClock clock;
  FakeStore* store = nullptr;
  std::unique_ptr<GuardedStore> guarded_;
  bool charged = false;
};

TEST_F(GuardedStoreTest, RaiseTellsTheCaller) {
  guarded(OnStoreError::kRaise);
  EXPECT_FALSE(decide().limited);
  const Status status = status_of(Code::kStoreUnavailable, "readonly");
  EXPECT_EQ(status.code(), Code::kStoreUnavailable);
  EXPECT_STREQ(status.error().reason, "readonly");
  EXPECT_EQ(status_of(Code::kStoreTimeout).code(), Code::kStoreTimeout);
  EXPECT_EQ(status_of(Code::kStoreProtocol).code(), Code::kStoreProtocol);
}

// Errors that the store did not cause go to the caller under every policy.
TEST_F(GuardedStoreTest, TellsOfErrorsThatAreNotTheStores) {
  for (const OnStoreError on_error :
       {OnStoreError::kAllow, OnStoreError::kDeny, OnStoreError::kLocal}) {
    guarded(on_error);
    for (const Code code :
         {Code::kInvalidArgument, Code::kCancelled, Code::kInternal}) {
      EXPECT_EQ(status_of(code).code(), code);
    }
    EXPECT_TRUE(errors().empty());
  }
}

TEST_F(GuardedStoreTest, AllowDecidesAsIfBucketsWereFull) {
  guarded(OnStoreError::kAllow);
  store->fail(Code::kStoreUnavailable);
  for (int i = 0; i < 100; ++i) {
    const Decision decision = decide();
    EXPECT_FALSE(decision.limited);
    EXPECT_EQ(decision.source, Source::kAllow);
    EXPECT_EQ(decision.limit, 8);
    EXPECT_EQ(decision.remaining, 7);
    EXPECT_FALSE(charged);
  }
  const Decision never = decide(9);
  EXPECT_TRUE(never.limited);
  EXPECT_EQ(never.retry_after, kNever);
  EXPECT_FALSE(decide(100, Operation::kSpend).limited);
  EXPECT_FALSE(charged);
  EXPECT_FALSE(decide(1, Operation::kRefund).limited);
  EXPECT_FALSE(decide(1, Operation::kPeek).limited);
}

TEST_F(GuardedStoreTest, DenyTellsToComeBackInASecond) {
  guarded(OnStoreError::kDeny);
  store->fail(Code::kStoreTimeout);
  for (const Operation operation : {Operation::kAuthorize, Operation::kPeek}) {
    const Decision denied = decide(3, operation);
    EXPECT_TRUE(denied.limited);
    EXPECT_EQ(denied.source, Source::kDeny);
    EXPECT_EQ(denied.remaining, 0);
    EXPECT_EQ(denied.retry_after, seconds(1));
    EXPECT_EQ(denied.next_after, seconds(1));
    EXPECT_FALSE(charged);
  }
  EXPECT_EQ(decide(9).retry_after, kNever);
  // These are never denied.
  EXPECT_FALSE(decide(0).limited);
  EXPECT_FALSE(decide(1, Operation::kSpend).limited);
  EXPECT_FALSE(decide(1, Operation::kRefund).limited);
  EXPECT_FALSE(charged);
}

// Full and empty mean the same for levels that are not plain GCRA.
TEST_F(GuardedStoreTest, AssumesBucketsOfOtherAlgorithms) {
  Rules rules;
  rules.overrun = 50;
  outer.rules = std::make_shared<const Rules>(rules);
  inner.rules = std::make_shared<const Rules>();
  inner.algorithm = Algorithm::kFixedWindow;
  inner.period = seconds(8);

  guarded(OnStoreError::kAllow);
  store->fail(Code::kStoreUnavailable);
  const Decision allowed = decide(8);
  EXPECT_FALSE(allowed.limited);
  EXPECT_EQ(allowed.source, Source::kAllow);
  EXPECT_EQ(allowed.remaining, 0);
  EXPECT_EQ(decide(9).retry_after, kNever);
  EXPECT_FALSE(charged);

  guarded(OnStoreError::kDeny);
  store->fail(Code::kStoreUnavailable);
  const Decision denied = decide();
  EXPECT_TRUE(denied.limited);
  EXPECT_EQ(denied.remaining, 0);
  EXPECT_EQ(denied.retry_after, seconds(1));
  EXPECT_FALSE(charged);
}

// For counters too, including one that admits nothing.
TEST_F(GuardedStoreTest, AssumesCounters) {
  const Limit counter = hour_counter(3);
  const Limit none = hour_counter(0);
  guarded(OnStoreError::kAllow);
  store->fail(Code::kStoreUnavailable);
  HitRequest allowed;
  allowed.hit(counter, "a", 2).hit(none, "b", 0).hit(counter, "c", 4);
  allowed.decide(guarded_.get());
  EXPECT_EQ(allowed.hits(0).before, 0);
  EXPECT_EQ(allowed.level(0).verdict.remaining, 1);
  EXPECT_FALSE(allowed.level(0).verdict.charged);
  EXPECT_FALSE(allowed.level(1).verdict.limited);
  EXPECT_EQ(allowed.level(2).verdict.retry_after, kNever);

  guarded(OnStoreError::kDeny);
  store->fail(Code::kStoreUnavailable);
  HitRequest denied;
  denied.hit(counter, "a").hit(none, "b").hit(counter, "c", 0);
  denied.decide(guarded_.get());
  EXPECT_EQ(denied.hits(0).before, 3);
  EXPECT_EQ(denied.level(0).verdict.retry_after, seconds(1));
  EXPECT_TRUE(denied.level(1).verdict.limited);
  EXPECT_FALSE(denied.level(2).verdict.limited);
}

TEST_F(GuardedStoreTest, LocalCountsEveryHit) {
  const Limit counter = hour_counter(3);
  guarded(OnStoreError::kLocal);
  store->fail(Code::kStoreUnavailable);
  for (int i = 0; i < 5; ++i) {
    HitRequest request;
    request.hit(counter, "a");
    const Decision decision = request.decide(guarded_.get());
    EXPECT_EQ(decision.limited, i >= 3);
    EXPECT_EQ(decision.source, Source::kLocal);
    EXPECT_EQ(request.hits(0).before, i);
  }
}

TEST_F(GuardedStoreTest, LocalDecidesInMemoryUntilTheStoreIsBack) {
  guarded(OnStoreError::kLocal);
  EXPECT_EQ(decide().source, Source::kStore);
  store->fail(Code::kStoreUnavailable);
  for (int i = 0; i < 8; ++i) {
    const Decision decision = decide();
    EXPECT_FALSE(decision.limited);
    EXPECT_EQ(decision.source, Source::kLocal);
    EXPECT_TRUE(charged);
  }
  EXPECT_TRUE(decide().limited);
  EXPECT_EQ(guarded_->stats().buckets, 4);  // two in each store
  store->failure = Status();
  const Decision back = decide();
  EXPECT_EQ(back.source, Source::kStore);
  EXPECT_EQ(back.remaining, 6);
}

// Both have evicted some, and some of those at their limit.
TEST_F(GuardedStoreTest, StatsAreThoseOfBothStores) {
  ManualClock time;
  const auto small = [&] {
    return std::make_unique<MemoryStore>(4, time.clock());
  };
  const Limit one = simple_limit(seconds(1), 1);
  auto remote = small();
  auto local = small();
  StoreStats expected;
  const auto fill = [&](MemoryStore* one_of_both, int callers) {
    for (int i = 0; i < callers; ++i) {
      Request(Operation::kAuthorize, {std::to_string(i)})
          .level(one, 1)
          .decide(one_of_both);
    }
    const StoreStats stats = one_of_both->stats();
    EXPECT_GT(stats.forgotten_limited, 0);
    expected.buckets += stats.buckets;
    expected.max_buckets += stats.max_buckets;
    expected.bytes += stats.bytes;
    expected.evictions += stats.evictions;
    expected.forgotten_limited += stats.forgotten_limited;
  };
  fill(remote.get(), 7);
  fill(local.get(), 11);
  GuardedStore both(std::move(remote), OnStoreError::kLocal, std::move(local));
  const StoreStats stats = both.stats();
  EXPECT_EQ(stats.buckets, expected.buckets);
  EXPECT_EQ(stats.max_buckets, expected.max_buckets);
  EXPECT_EQ(stats.bytes, expected.bytes);
  EXPECT_EQ(stats.evictions, expected.evictions);
  EXPECT_EQ(stats.forgotten_limited, expected.forgotten_limited);
}

TEST_F(GuardedStoreTest, LocalTakesTheLimitsOfThePlan) {
  guarded(OnStoreError::kLocal);
  store->fail(Code::kStoreUnavailable);
  Limit limits[] = {outer, inner};
  limits[0].rate = {seconds(8), 2};
  limits[1].rate = {seconds(8), 1};
  outer.index = 0;
  inner.index = 1;
  for (const bool limited : {false, true}) {
    Plan plan(Operation::kAuthorize);
    plan.local_limits = limits;
    plan.segments.emplace_back("alex", Segment::Kind::kCaller);
    plan.segments.emplace_back("trade", Segment::Kind::kCaller);
    plan.add_level(&outer, 0u, 1u, 1);
    plan.add_level(&inner, 0u, 2u, 1);
    ASSERT_TRUE(guarded_->decide(&plan).ok());
    const Decision decision = aggregate(plan);
    EXPECT_EQ(decision.limited, limited);
    EXPECT_EQ(decision.limit, 1);
    EXPECT_EQ(decision.remaining, 0);
  }
}

TEST_F(GuardedStoreTest, ResetAndPingTellOfEveryFailure) {
  for (const OnStoreError on_error :
       {OnStoreError::kRaise, OnStoreError::kAllow, OnStoreError::kDeny,
        OnStoreError::kLocal}) {
    GuardedStore& under_test = guarded(on_error);
    Request request(Operation::kRefund, {"alex"});
    request.level(outer, 1);
    EXPECT_TRUE(under_test.reset(request.plan()).ok());
    EXPECT_TRUE(under_test.ping().ok());
    store->fail(Code::kStoreUnavailable, "loading");
    EXPECT_EQ(under_test.reset(request.plan()).code(), Code::kStoreUnavailable);
    EXPECT_EQ(under_test.ping().code(), Code::kStoreUnavailable);
    EXPECT_EQ(errors()["loading"], 2);
  }
}

TEST_F(GuardedStoreTest, ResetForgetsWhatIsOwedInMemory) {
  guarded(OnStoreError::kLocal);
  store->fail(Code::kStoreUnavailable);
  for (int i = 0; i < 9; ++i) decide();
  Request request(Operation::kRefund, {"alex", "trade"});
  request.level(outer, 1).level(inner, 2);
  EXPECT_FALSE(guarded_->reset(request.plan()).ok());
  EXPECT_EQ(decide().remaining, 7);
}

TEST_F(GuardedStoreTest, ResetsForThoseWhoDoNotWait) {
  guarded(OnStoreError::kLocal);
  store->fail(Code::kStoreUnavailable, "loading");
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(status_of(Code::kStoreUnavailable, "loading").ok());
  }
  constexpr auto kReset = Pending::Kind::kReset;
  PendingRequest at_once(Operation::kRefund, outer, "alex", kReset);
  Status status;
  ASSERT_TRUE(guarded_->start(&at_once, &status));
  EXPECT_EQ(status.code(), Code::kStoreUnavailable);
  EXPECT_EQ(at_once.answers, 0);
  EXPECT_EQ(errors()["loading"], 4) << "nothing can replace a reset";
  EXPECT_EQ(guarded_->stats().buckets, 0) << "but memory has forgotten";

  store->answers_later = true;
  PendingRequest later(Operation::kRefund, outer, "alex", kReset);
  ASSERT_FALSE(guarded_->start(&later, &status));
  guarded_->new_loop()->run();
  EXPECT_EQ(later.answers, 1);
  EXPECT_EQ(later.status.code(), Code::kStoreUnavailable);
  EXPECT_EQ(errors()["loading"], 5);
}

TEST_F(GuardedStoreTest, DecidesForThoseWhoDoNotWait) {
  guarded(OnStoreError::kAllow);
  store->answers_later = true;
  PendingRequest request(Operation::kAuthorize, outer, "alex");
  Status status;
  ASSERT_FALSE(guarded_->start(&request, &status));
  store->fail(Code::kStoreTimeout);
  guarded_->new_loop()->run();
  EXPECT_EQ(request.answers, 1);
  EXPECT_TRUE(request.status.ok());
  EXPECT_EQ(request.plan().source, Source::kAllow);

  store->answers_later = false;
  PendingRequest at_once(Operation::kAuthorize, outer, "alex");
  ASSERT_TRUE(guarded_->start(&at_once, &status));
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(at_once.answers, 0);
  EXPECT_EQ(at_once.plan().source, Source::kAllow);
}

TEST_F(GuardedStoreTest, CancelledIsNoFailureOfTheStore) {
  guarded(OnStoreError::kAllow);
  store->answers_later = true;
  PendingRequest request(Operation::kAuthorize, outer, "alex");
  Status status;
  ASSERT_FALSE(guarded_->start(&request, &status));
  guarded_->new_loop().reset();
  EXPECT_EQ(request.answers, 1);
  EXPECT_EQ(request.status.code(), Code::kCancelled);
}

TEST_F(GuardedStoreTest, CountsErrorsByTheirReason) {
  guarded(OnStoreError::kAllow);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(status_of(Code::kStoreTimeout).ok());
  EXPECT_TRUE(status_of(Code::kStoreUnavailable, "readonly").ok());
  EXPECT_TRUE(status_of(Code::kStoreUnavailable).ok());
  EXPECT_TRUE(status_of(Code::kStoreProtocol).ok());
  EXPECT_EQ(errors(), (std::map<std::string, std::int64_t>{{"timeout", 3},
                                                           {"readonly", 1},
                                                           {"unavailable", 1},
                                                           {"protocol", 1}}));
}

TEST(ErrorCounts, LoseNothingBetweenThreads) {
  static const char* const kReasons[] = {"a", "b", "c", "d", "e"};
  ErrorCounts counts;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) counts.count(kReasons[i % 5]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::vector<ReasonCount> all = counts.all();
  ASSERT_EQ(all.size(), 5u);
  for (const ReasonCount& one : all) EXPECT_EQ(one.count, 4000) << one.reason;
}

TEST(ErrorCounts, TakeAllThatFindsNoPlaceInTheLastOne) {
  std::vector<std::string> reasons;
  for (int i = 0; i < 60; ++i) reasons.push_back(std::to_string(i));
  ErrorCounts counts;
  for (const std::string& reason : reasons) counts.count(reason.c_str());
  const std::vector<ReasonCount> all = counts.all();
  ASSERT_EQ(all.size(), 48u);
  EXPECT_EQ(all.back().count, 13);
}

}  // namespace
}  // namespace limitree::guarded_store_test
