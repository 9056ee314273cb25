#include "store/decorators/lease_cache.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/store/fake_store.hpp"
#include "core/store/store_cases.hpp"

namespace limitree {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kLease = milliseconds(100);

Limit leased_limit(Duration interval, std::int64_t capacity,
                   Duration lease = kLease) {
  Limit limit = simple_limit(interval, capacity);
  limit.lease = lease;
  limit.rate.capacity = leased_capacity(limit.rate, lease);
  return limit;
}

class LeaseFixture {
 public:
  Store* store() { return &cache_; }
  void advance(Duration by) { clock_.advance(by); }

 private:
  ManualClock clock_;
  LeaseCache cache_{std::make_unique<MemoryStore>(1000, clock_.clock()),
                    clock_.clock()};
};

INSTANTIATE_TYPED_TEST_SUITE_P(LeaseCache, StoreCases, LeaseFixture);

class LeaseCacheTest : public testing::Test {
 protected:
  Decision decide(const std::string& name = "a", std::int64_t cost = 1,
                  Operation operation = Operation::kAuthorize) {
    Request request(operation, {name});
    return request.level(limit, 1, cost).decide(&cache);
  }
  // Requests a millisecond apart, until one is decided by a lease, which has
  // many more.
  void warm_up(const std::string& name = "a") {
    for (int i = 0; i < 300; ++i) {
      clock.advance(milliseconds(1));
      if (decide(name).source == Source::kLease) break;
    }
    ASSERT_GT(held(), 10) << "no lease";
  }
  // Leaves so few units that the next request asks for more.
  void spend_most() {
    while (held() > 4) decide();
    ASSERT_EQ(held(), 4);
  }
  std::int64_t held() {
    const StoreStats stats = cache.stats();
    return stats.leased - stats.lease_used - stats.lease_lost;
  }

  Limit limit = leased_limit(microseconds(100), 100'000);
  ManualClock clock;
  FakeStore* store = new FakeStore(&clock);
  LeaseCache cache{std::unique_ptr<Store>(store), clock.clock()};
};

TEST_F(LeaseCacheTest, AHotCallerSeldomAsksTheStore) {
  warm_up();
  store->asked = 0;
  for (int i = 0; i < 5000; ++i) {
    clock.advance(milliseconds(1));
    EXPECT_FALSE(decide().limited);
  }
  // About 75 requests for each time that the store was asked.
  EXPECT_GT(store->asked, 50);
  EXPECT_LT(store->asked, 100);
  const StoreStats stats = cache.stats();
  EXPECT_GE(stats.lease_used, 5000 - 100);
  EXPECT_LT(stats.lease_lost, stats.leased / 50);
}

TEST_F(LeaseCacheTest, ARareCallerIsNotLeased) {
  for (int i = 0; i < 100; ++i) {
    clock.advance(milliseconds(60));
    EXPECT_EQ(decide().source, Source::kStore);
  }
  EXPECT_EQ(cache.stats().leased, 0);
}

TEST_F(LeaseCacheTest, WhatIsHeldEnds) {
  warm_up();
  // It was asked for a millisecond before.
  clock.advance(valid_for(kLease) - milliseconds(2));
  EXPECT_EQ(decide().source, Source::kLease);
  clock.advance(milliseconds(1));
  EXPECT_EQ(held(), 0);
  EXPECT_EQ(decide().source, Source::kStore);
  const StoreStats stats = cache.stats();
  EXPECT_GT(stats.lease_lost, 10);
}

// All are charged, but the caller hears of those that it has used.
TEST_F(LeaseCacheTest, TellsWhatASoleCallerWouldHear) {
  limit = leased_limit(milliseconds(10), 1000);
  MemoryStore plain(1000, clock.clock());
  int leased = 0;
  for (int i = 0; i < 195; ++i) {
    clock.advance(milliseconds(1));
    // From then on the store owes units that nobody has used.
    if (cache.stats().lease_lost > 0) break;
    const bool holds = held() > 0;
    const Decision ours = decide();
    Request same(Operation::kAuthorize, {"a"});
    const Decision theirs = same.level(limit, 1).decide(&plain);
    leased += ours.source == Source::kLease ? 1 : 0;
    ASSERT_EQ(ours.limited, theirs.limited);
    ASSERT_EQ(ours.limit, theirs.limit);
    // The store has also charged what is held.
    if (holds && ours.source == Source::kStore) continue;
    ASSERT_EQ(ours.remaining, theirs.remaining) << i;
    ASSERT_EQ(ours.reset_after, theirs.reset_after) << i;
    ASSERT_EQ(ours.next_after, theirs.next_after);
  }
  EXPECT_GT(leased, 60);
}

TEST_F(LeaseCacheTest, TheStoreHasChargedWhatIsHeld) {
  limit = leased_limit(seconds(1), 1000);
  warm_up();
  const Decision ours = decide();
  Request peek(Operation::kPeek, {"a"});
  const Decision all = peek.level(limit, 1, 0).decide(&store->memory);
  EXPECT_GT(held(), 10);
  EXPECT_NEAR(static_cast<double>(ours.remaining - all.remaining),
              static_cast<double>(held()), 1);
}

TEST_F(LeaseCacheTest, OthersSpendWhatIsLeftWhileOneAsks) {
  warm_up();
  spend_most();
  int leased = 0;
  store->while_asked = [&] {
    store->while_asked = nullptr;
    leased += decide().source == Source::kLease ? 1 : 0;
  };
  const int before = store->asked;
  while (store->asked == before) {
    clock.advance(milliseconds(1));
    decide();
  }
  EXPECT_EQ(leased, 1);
  EXPECT_GT(held(), 10);
}

TEST_F(LeaseCacheTest, TakesNoMoreThanHalfOfWhatIsFree) {
  limit = leased_limit(seconds(1), 21, milliseconds(500));
  limit.lease = seconds(10);  // of a caller that would use a hundred
  limit.rate.capacity = 20;
  for (int i = 0; i < 9; ++i) {
    clock.advance(milliseconds(1100));
    EXPECT_EQ(decide().source, Source::kStore);
  }
  clock.advance(seconds(1));
  decide();
  EXPECT_LE(cache.stats().leased, 10);
}

TEST_F(LeaseCacheTest, RequestsOfOtherCostsTakeAsManyUnits) {
  warm_up();
  const std::int64_t before = held();
  ASSERT_GT(before, 20);
  EXPECT_EQ(decide("a", 7).source, Source::kLease);
  EXPECT_EQ(held(), before - 7);
  EXPECT_EQ(decide("a", 1000).source, Source::kStore);
}

TEST_F(LeaseCacheTest, AllLevelsAreLeasedTogether) {
  const Limit inner = leased_limit(milliseconds(1), 1000, 2 * kLease);
  const Limit double_cost = [&] {
    Limit twice = leased_limit(microseconds(50), 100'000);
    twice.cost = 2;
    return twice;
  }();
  int leased = 0;
  for (int i = 0; i < 400; ++i) {
    clock.advance(milliseconds(1));
    Request request(Operation::kAuthorize, {"a", "b"});
    request.level(double_cost, 1, 2).level(inner, 2);
    const Decision decision = request.decide(&cache);
    leased += decision.source == Source::kLease ? 1 : 0;
    EXPECT_FALSE(decision.limited);
    EXPECT_TRUE(request.verdict(0).charged);
    EXPECT_TRUE(request.verdict(1).charged);
  }
  EXPECT_GT(leased, 200);
}

TEST_F(LeaseCacheTest, PathsWithAnotherKindOfLevelAreNotLeased) {
  const auto run = [&](const Limit& other) {
    for (int i = 0; i < 300; ++i) {
      clock.advance(milliseconds(1));
      Request request(Operation::kAuthorize, {"a", "b"});
      request.level(limit, 1).level(other, 2);
      ASSERT_EQ(request.decide(&cache).source, Source::kStore);
    }
  };
  run(simple_limit(milliseconds(1), 1000));
  Limit other = limit;
  other.mode = Mode::kShadow;
  run(other);
  other = limit;
  other.charge = Charge::kIndependent;
  run(other);
  other = limit;
  other.cost = 2;  // the request costs 1 there
  run(other);
  other = limit;
  other.charge = Charge::kDenials;
  run(other);
  make_block(&other);
  other.lease = kLease;
  run(other);
  EXPECT_EQ(cache.stats().leased, 0);
}

TEST_F(LeaseCacheTest, AWindowIsLeasedUpToItsEnd) {
  limit = limit_of(Algorithm::kFixedWindow, 10'000, seconds(1));
  limit.lease = kLease;
  clock.set(Instant(seconds(1'000'000)));
  for (int window = 0; window < 5; ++window) {
    const Instant end = clock.now() + seconds(1);
    int admitted = 0;
    while (clock.now() < end) {
      admitted += decide().limited ? 0 : 1;
      clock.advance(microseconds(50));
    }
    EXPECT_EQ(held(), 0);
    EXPECT_LE(admitted, 10'000);
    EXPECT_GT(admitted, 9'000);
  }
  EXPECT_GT(cache.stats().lease_used, 10'000);
}

TEST_F(LeaseCacheTest, RefundsAndResetsForget) {
  warm_up();
  decide("a", 1, Operation::kRefund);
  EXPECT_EQ(held(), 0);
  warm_up();
  Request request(Operation::kRefund, {"a"});
  ASSERT_TRUE(cache.reset(request.level(limit, 1).plan()).ok());
  EXPECT_EQ(held(), 0);
  EXPECT_EQ(decide().source, Source::kStore);
}

TEST_F(LeaseCacheTest, AReloadForgets) {
  warm_up();
  cache.limits_changed();
  EXPECT_EQ(held(), 0);
  EXPECT_EQ(decide().source, Source::kStore);
}

// A loop asks for more while a few units are left.
class LeaseOnItsWay : public LeaseCacheTest {
 protected:
  void SetUp() override {
    warm_up();
    spend_most();
    store->answers_later = true;
    ASSERT_FALSE(cache.start(&asks, &status));
  }

  Status status;
  PendingRequest asks{Operation::kAuthorize, limit, "a"};
  const std::unique_ptr<StoreLoop> loop = cache.new_loop();
};

TEST_F(LeaseOnItsWay, WhatIsOnItsWayDuringAResetIsNotTaken) {
  EXPECT_GT(asks.plan().lease.most, 10);
  store->answers_later = false;
  Request request(Operation::kRefund, {"a"});
  ASSERT_TRUE(cache.reset(request.level(limit, 1).plan()).ok());
  loop->run();
  EXPECT_EQ(asks.answers, 1);
  EXPECT_GT(cache.stats().lease_lost, 10 + 4);
  EXPECT_EQ(held(), 0);
}

TEST_F(LeaseOnItsWay, WhatIsOnItsWayDuringARefundOfAnotherPathIsTaken) {
  store->answers_later = false;
  decide("b", 1, Operation::kRefund);
  loop->run();
  EXPECT_EQ(asks.answers, 1);
  EXPECT_GT(held(), 10 + 4);
}

// Its end would be an hour away.
TEST_F(LeaseOnItsWay, WhatIsOnItsWayWhileTheClockStepsBackIsNotTaken) {
  store->answers_later = false;
  clock.advance(-std::chrono::hours(1));
  decide();
  loop->run();
  EXPECT_EQ(held(), 0);
}

TEST_F(LeaseOnItsWay, AnswersInALoopAreTaken) {
  // Meanwhile the last units are spent, and then the store is asked.
  for (int i = 0; i < 4; ++i) {
    PendingRequest spends(Operation::kAuthorize, limit, "a");
    ASSERT_TRUE(cache.start(&spends, &status));
    EXPECT_EQ(spends.plan().source, Source::kLease);
  }
  PendingRequest waits(Operation::kAuthorize, limit, "a");
  ASSERT_FALSE(cache.start(&waits, &status));
  EXPECT_EQ(waits.plan().lease.most, 0);
  loop->run();
  EXPECT_EQ(asks.answers + waits.answers, 2);
  EXPECT_GT(held(), 10);
  PendingRequest next(Operation::kAuthorize, limit, "a");
  ASSERT_TRUE(cache.start(&next, &status));
  EXPECT_EQ(next.plan().source, Source::kLease);
}

TEST_F(LeaseCacheTest, IsSpentToItsEndWhileTheStoreIsAway) {
  warm_up();
  const std::int64_t before = held();
  store->fail(Code::kStoreUnavailable);
  const auto code = [&] {
    Plan plan(Operation::kAuthorize);
    plan.segments.emplace_back("a", Segment::Kind::kCaller);
    plan.add_level(&limit, 0u, 1u, 1);
    return cache.decide(&plan).code();
  };
  store->asked = 0;
  for (std::int64_t i = 0; i < before; ++i) ASSERT_EQ(code(), Code::kOk);
  // Not each of the last ones has waited for the store.
  EXPECT_LE(store->asked, 2);
  EXPECT_EQ(code(), Code::kStoreUnavailable);
  EXPECT_EQ(cache.stats().lease_lost, 0);
}

// What has replaced it comes after what is held.
TEST_F(LeaseCacheTest, IsSpentToItsEndWhileTheStoreIsReplaced) {
  warm_up();
  const std::int64_t before = held();
  store->replaced_by = Source::kAllow;
  store->asked = 0;
  for (std::int64_t i = 0; i < before; ++i) {
    ASSERT_EQ(decide().source, Source::kLease) << i;
  }
  EXPECT_LE(store->asked, 2);
  EXPECT_EQ(decide().source, Source::kAllow);
}

// Others have taken all the rest.
TEST_F(LeaseCacheTest, IsSpentToItsEndWhileTheStoreDenies) {
  limit = leased_limit(seconds(1), 1000);
  warm_up();
  const std::int64_t before = held();
  Request others(Operation::kSpend, {"a"});
  others.level(limit, 1, 1000).decide(&store->memory);
  for (std::int64_t i = 0; i < before; ++i) {
    const Decision decision = decide();
    ASSERT_FALSE(decision.limited) << i;
    ASSERT_EQ(decision.source, Source::kLease);
  }
  EXPECT_TRUE(decide().limited);
}

TEST_F(LeaseCacheTest, DeniesAheadForAWhile) {
  limit = leased_limit(milliseconds(1), 1000);
  limit.denies_ahead = true;
  int denied_here = 0;
  Decision denied;
  for (int i = 0; i < 10'000; ++i) {
    clock.advance(microseconds(100));
    const Decision decision = decide();
    if (!decision.limited || decision.source != Source::kLease) continue;
    ++denied_here;
    denied = decision;
    ASSERT_GT(decision.retry_after, Duration::zero());
    ASSERT_LE(decision.retry_after, kLease);
    ASSERT_GE(decision.next_after, decision.retry_after);
    ASSERT_EQ(decision.remaining, 0);
  }
  ASSERT_GT(denied_here, 1000);
  // It keeps its word.
  for (denied = decide(); !denied.limited; denied = decide()) {
  }
  EXPECT_EQ(decide().retry_after, denied.retry_after);
  clock.advance(denied.retry_after - Duration(1));
  EXPECT_TRUE(decide().limited);
  clock.advance(Duration(1));
  EXPECT_FALSE(decide().limited);
}

// Such as one that lies on two servers.
TEST_F(LeaseCacheTest, DoesNotDenyAheadIfTheStoreGrantsNothing) {
  limit = leased_limit(milliseconds(1), 1000);
  limit.denies_ahead = true;
  store->grants = false;
  for (int i = 0; i < 20'000; ++i) {
    clock.advance(microseconds(100));
    ASSERT_EQ(decide().source, Source::kStore);
  }
}

// Without `ahead`, or where the scarce level does not say so, never.
TEST_F(LeaseCacheTest, OnlyDeniesAheadWhereTheLimitSaysSo) {
  Limit scarce = leased_limit(milliseconds(1), 1000);
  limit.denies_ahead = true;
  for (int i = 0; i < 20'000; ++i) {
    clock.advance(microseconds(100));
    Request request(Operation::kAuthorize, {"a", "b"});
    request.level(limit, 1).level(scarce, 2);
    const Decision decision = request.decide(&cache);
    ASSERT_FALSE(decision.limited && decision.source == Source::kLease);
  }
}

// A request that began before a reload asks with the limits of that time.
TEST_F(LeaseCacheTest, UnitsOfOtherLimitsAreNotSpent) {
  warm_up();
  const std::int64_t before = held();
  const Limit old = limit;
  limit = leased_limit(milliseconds(1), 10'000);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(decide().source, Source::kStore);
  limit = old;
  EXPECT_EQ(held(), before);
  EXPECT_EQ(decide().source, Source::kLease);
  limit = leased_limit(microseconds(100), 100'000, kLease / 2);
  EXPECT_EQ(decide().source, Source::kStore);
}

TEST_F(LeaseCacheTest, BelongsToOneProcess) {
  warm_up();
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    alarm(20);
    _exit(held() == 0 && decide().source == Source::kStore ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(decide().source, Source::kLease);
}

TEST_F(LeaseCacheTest, AClockThatStepsBackEndsIt) {
  warm_up();
  clock.advance(-seconds(3600));
  EXPECT_EQ(decide().source, Source::kStore);
  EXPECT_EQ(held(), 0);
}

TEST_F(LeaseCacheTest, IsBounded) {
  warm_up("hot");
  const std::int64_t before = held();
  for (int i = 0; i < 200'000; ++i) decide(std::to_string(i));
  EXPECT_EQ(held(), before);
  EXPECT_EQ(decide("hot").source, Source::kLease);
}

// Several threads spend each unit once.
TEST_F(LeaseCacheTest, IsSpentOnceByAllThreads) {
  warm_up();
  std::vector<std::thread> threads;
  std::atomic<std::int64_t> leased = 0;
  const std::int64_t used = cache.stats().lease_used;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        if (decide().source == Source::kLease) ++leased;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const StoreStats stats = cache.stats();
  EXPECT_EQ(stats.lease_used - used, leased);
  EXPECT_LE(stats.lease_used, stats.leased);
}

}  // namespace
}  // namespace limitree
