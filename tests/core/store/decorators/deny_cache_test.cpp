#include "store/decorators/deny_cache.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>

#include "core/store/fake_store.hpp"
#include "core/store/store_cases.hpp"

namespace limitree {
namespace {

using std::chrono::seconds;

class Fixture {
 public:
  Store* store() { return &cache_; }
  void advance(Duration by) { clock_.advance(by); }

 private:
  ManualClock clock_;
  DenyCache cache_{std::make_unique<MemoryStore>(1000, clock_.clock()), 1000,
                   clock_.clock()};
};

INSTANTIATE_TYPED_TEST_SUITE_P(DenyCache, StoreCases, Fixture);

class DenyCacheTest : public testing::Test {
 protected:
  Status reset(const std::string& name) {
    Request request(Operation::kRefund, {name});
    return cache.reset(request.level(limit, 1).plan());
  }
  Decision decide(const std::string& name, std::int64_t cost = 1,
                  Operation operation = Operation::kAuthorize) {
    Request request(operation, {name});
    return request.level(limit, 1, cost).decide(&cache);
  }
  void exhaust(const std::string& name) {
    while (!decide(name).limited) continue;
  }

  Limit limit = simple_limit(seconds(1), 3);
  ManualClock clock;
  FakeStore* store = new FakeStore(&clock);
  DenyCache cache{std::unique_ptr<Store>(store), 1000, clock.clock()};
};

// The answer to the request that empties a bucket is enough.
TEST_F(DenyCacheTest, AsksNothingUntilAWaitIsOver) {
  exhaust("a");
  EXPECT_EQ(store->asked, 3);
  for (int i = 0; i < 10; ++i) {
    const Decision denied = decide("a");
    EXPECT_TRUE(denied.limited);
    EXPECT_EQ(denied.source, Source::kDenyCache);
    EXPECT_EQ(denied.limit, 3);
    EXPECT_EQ(denied.remaining, 0);
    EXPECT_EQ(denied.retry_after, seconds(1) - i * Duration(99'999'999));
    clock.advance(Duration(99'999'999));
  }
  EXPECT_EQ(store->asked, 3);
  clock.advance(Duration(10));  // the second is over
  const Decision allowed = decide("a");
  EXPECT_FALSE(allowed.limited);
  EXPECT_EQ(allowed.source, Source::kStore);
  EXPECT_EQ(store->asked, 4);
}

// The path of a level was allowed while another path of the caller was denied.
// The cache knows how much is left.
TEST_F(DenyCacheTest, KnowsLevelsThatWereOnlyEverAllowed) {
  const Limit inner = simple_limit(std::chrono::minutes(1), 5);
  const auto ask = [&](const char* action) {
    Request request(Operation::kAuthorize, {"a", action});
    return request.level(limit, 1).level(inner, 2).decide(&cache);
  };
  ask("read");
  while (!ask("write").limited) continue;
  const Decision denied = ask("read");
  EXPECT_EQ(denied.source, Source::kDenyCache);
  EXPECT_EQ(denied.reset_after, std::chrono::minutes(1));  // of "read"
}

TEST_F(DenyCacheTest, KnowsOtherCostsToo) {
  exhaust("a");
  clock.advance(seconds(1));
  // It is known to owe two of three seconds: one token fits, two do not.
  EXPECT_TRUE(decide("a", 2).limited);
  EXPECT_EQ(store->asked, 3);
  EXPECT_FALSE(decide("a", 0).limited);
  EXPECT_FALSE(decide("a", 1).limited);
  EXPECT_EQ(store->asked, 5);
}

TEST_F(DenyCacheTest, AnswersPeeksAsRequests) {
  exhaust("a");
  EXPECT_EQ(decide("a", 1, Operation::kPeek).source, Source::kDenyCache);
  exhaust("b");
  const int asked = store->asked;
  EXPECT_EQ(decide("b", 1, Operation::kPeek).source, Source::kDenyCache);
  EXPECT_EQ(store->asked, asked);
}

// No wait is long enough, but that says nothing about the bucket.
TEST_F(DenyCacheTest, LearnsNothingFromACostAboveTheCapacity) {
  EXPECT_EQ(decide("a", 4).retry_after, kNever);
  EXPECT_EQ(decide("a", 4).source, Source::kStore);
  EXPECT_EQ(store->asked, 2);
}

TEST_F(DenyCacheTest, AnOuterLevelDeniesEveryInnerOne) {
  const Limit inner = simple_limit(seconds(1), 100);
  exhaust("a");
  const int asked = store->asked;
  Request request(Operation::kAuthorize, {"a", "new"});
  request.level(limit, 1).level(inner, 2);
  const Decision denied = request.decide(&cache);
  EXPECT_EQ(denied.source, Source::kDenyCache);
  EXPECT_EQ(denied.binding, 0);
  EXPECT_EQ(store->asked, asked);
}

TEST_F(DenyCacheTest, ShadowLevelsDenyNothing) {
  limit.mode = Mode::kShadow;
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(decide("a").source, Source::kStore);
  }
  EXPECT_EQ(store->asked, 6);
}

// A denied request still charges there.
TEST_F(DenyCacheTest, IsOffForIndependentLevels) {
  limit.charge = Charge::kIndependent;
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(decide("a").source, Source::kStore);
  }
  EXPECT_EQ(store->asked, 6);
}

// A denied hit must be counted.
TEST_F(DenyCacheTest, IsOffForCounters) {
  limit = hour_counter(2);
  for (int i = 0; i < 6; ++i) {
    HitRequest request;
    request.hit(limit, "a");
    const Decision decision = request.decide(&cache);
    EXPECT_EQ(decision.limited, i >= 2);
    EXPECT_EQ(decision.source, Source::kStore);
    EXPECT_EQ(request.hits(0).before, i);
  }
  EXPECT_EQ(store->asked, 6);
}

TEST_F(DenyCacheTest, SpendTeachesWhatItEmptied) {
  decide("a", 2, Operation::kSpend);
  EXPECT_EQ(decide("a").source, Source::kStore);
  decide("a", 1, Operation::kSpend);
  const Decision denied = decide("a");
  EXPECT_TRUE(denied.limited);
  EXPECT_EQ(denied.source, Source::kDenyCache);
  EXPECT_EQ(denied.retry_after, seconds(1));
  EXPECT_EQ(decide("a", 1, Operation::kSpend).source, Source::kStore);
}

// A level in check mode is not charged, whatever spend reports about it.
TEST_F(DenyCacheTest, SpendTeachesNothingOfUnchargedLevels) {
  limit.mode = Mode::kCheck;
  decide("a", 3, Operation::kSpend);
  EXPECT_FALSE(decide("a").limited);
}

TEST_F(DenyCacheTest, RefundAndResetAreSeenAtOnce) {
  exhaust("a");
  exhaust("b");
  exhaust("c");
  decide("a", 1, Operation::kRefund);
  EXPECT_FALSE(decide("a").limited);
  ASSERT_TRUE(reset("b").ok());
  EXPECT_EQ(decide("b").remaining, 2);
  EXPECT_EQ(decide("c").source, Source::kDenyCache);
}

TEST_F(DenyCacheTest, ForgetsAlsoWhenRefundOrResetFails) {
  exhaust("a");
  exhaust("b");
  store->fail(Code::kStoreTimeout);
  Plan refund(Operation::kRefund);
  refund.segments.emplace_back("a", Segment::Kind::kCaller);
  refund.add_level(&limit, 0u, 1u, 1);
  EXPECT_EQ(cache.decide(&refund).code(), Code::kStoreTimeout);
  EXPECT_EQ(reset("b").code(), Code::kStoreTimeout);
  store->failure = Status();
  EXPECT_EQ(decide("a").source, Source::kStore);
  EXPECT_EQ(decide("b").source, Source::kStore);
}

TEST_F(DenyCacheTest, AReloadForgetsEverything) {
  exhaust("a");
  exhaust("b");
  cache.limits_changed();
  EXPECT_EQ(decide("a").source, Source::kStore);
  EXPECT_EQ(decide("b").source, Source::kStore);
}

// The denial is on its way back during a refund.
TEST_F(DenyCacheTest, LearnsNoDenialOlderThanARefund) {
  exhaust("a");
  cache.limits_changed();
  store->answers_later = true;
  PendingRequest slow(Operation::kAuthorize, limit, "a");
  Status status;
  ASSERT_FALSE(cache.start(&slow, &status));
  Pending* const pending = store->take();
  ASSERT_TRUE(store->decide(&pending->plan()).ok());
  store->answers_later = false;
  decide("a", 3, Operation::kRefund);
  pending->complete(Status());
  EXPECT_EQ(slow.answers, 1);
  EXPECT_TRUE(slow.plan().levels[0].verdict.limited);
  EXPECT_FALSE(decide("a").limited);
}

TEST_F(DenyCacheTest, LearnsAndAnswersWithoutWaiting) {
  exhaust("a");
  cache.limits_changed();
  store->answers_later = true;
  PendingRequest first(Operation::kAuthorize, limit, "a");
  Status status;
  ASSERT_FALSE(cache.start(&first, &status));
  cache.new_loop()->run();
  EXPECT_EQ(first.answers, 1);
  EXPECT_EQ(first.plan().source, Source::kStore);
  PendingRequest second(Operation::kAuthorize, limit, "a");
  EXPECT_TRUE(cache.start(&second, &status));
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(second.answers, 0);
  EXPECT_EQ(second.plan().source, Source::kDenyCache);
}

TEST_F(DenyCacheTest, ForgetsWhenAPendingResetIsAnswered) {
  exhaust("a");
  EXPECT_EQ(decide("a").source, Source::kDenyCache);
  store->answers_later = true;
  PendingRequest reset(Operation::kRefund, limit, "a", Pending::Kind::kReset);
  Status status;
  ASSERT_FALSE(cache.start(&reset, &status));
  EXPECT_EQ(decide("a").source, Source::kDenyCache);
  cache.new_loop()->run();
  EXPECT_EQ(reset.answers, 1);
  EXPECT_TRUE(reset.status.ok());
  store->answers_later = false;
  EXPECT_FALSE(decide("a").limited);

  exhaust("a");
  PendingRequest at_once(Operation::kRefund, limit, "a", Pending::Kind::kReset);
  ASSERT_TRUE(cache.start(&at_once, &status));
  EXPECT_TRUE(status.ok());
  EXPECT_FALSE(decide("a").limited);
}

TEST_F(DenyCacheTest, CountsFromBeforeTheStoreWasAsked) {
  exhaust("a");
  cache.limits_changed();
  store->while_asked = [&] { clock.advance(std::chrono::milliseconds(300)); };
  EXPECT_EQ(decide("a").retry_after, std::chrono::milliseconds(700));
  store->while_asked = nullptr;
  // 300 ms early by our clock, never late.
  EXPECT_EQ(decide("a").retry_after, std::chrono::milliseconds(400));
  clock.advance(std::chrono::milliseconds(400));
  EXPECT_EQ(decide("a").source, Source::kStore);
}

TEST_F(DenyCacheTest, LearnsNothingFromWhatIsNoAnswerOfTheStore) {
  exhaust("a");
  cache.limits_changed();
  store->fail(Code::kStoreUnavailable);
  Plan plan(Operation::kAuthorize);
  plan.segments.emplace_back("a", Segment::Kind::kCaller);
  plan.add_level(&limit, 0u, 1u, 1);
  EXPECT_EQ(cache.decide(&plan).code(), Code::kStoreUnavailable);
  store->failure = Status();
  EXPECT_EQ(decide("a").source, Source::kStore);
}

TEST_F(DenyCacheTest, TellsThePendingThatTheyAreCancelled) {
  store->answers_later = true;
  std::unique_ptr<StoreLoop> loop = cache.new_loop();
  PendingRequest pending(Operation::kRefund, limit, "a");
  Status status;
  ASSERT_FALSE(cache.start(&pending, &status));
  loop.reset();
  EXPECT_EQ(pending.answers, 1);
  EXPECT_EQ(pending.status.code(), Code::kCancelled);
}

TEST_F(DenyCacheTest, KeepsTheMostIndebtedOfTooMany) {
  DenyCache small(std::make_unique<MemoryStore>(100'000, clock.clock()), 4,
                  clock.clock());
  const Limit hour = simple_limit(std::chrono::hours(1), 1);
  const auto denied_by = [&](const Limit& by, const std::string& name) {
    Request request(Operation::kAuthorize, {name});
    request.level(by, 1).decide(&small);
    Request again(Operation::kAuthorize, {name});
    return again.level(by, 1).decide(&small).source;
  };
  EXPECT_EQ(denied_by(hour, "long"), Source::kDenyCache);
  const Limit second = simple_limit(seconds(1), 1);
  for (int i = 0; i < 1000; ++i) denied_by(second, std::to_string(i));
  EXPECT_EQ(denied_by(hour, "long"), Source::kDenyCache);
}

// Every field of a decision and of its verdicts.
std::vector<std::int64_t> everything(const Decision& decision,
                                     const Plan& plan) {
  std::vector<std::int64_t> fields = {
      decision.limited,
      decision.limit,
      decision.remaining,
      decision.retry_after.count(),
      decision.reset_after.count(),
      decision.next_after.count(),
      decision.binding,
  };
  for (const Level& level : plan.levels) {
    const Verdict& verdict = level.verdict;
    fields.insert(
        fields.end(),
        {verdict.limited, verdict.remaining, verdict.retry_after.count(),
         verdict.reset_after.count(), verdict.next_after.count()});
  }
  return fields;
}

// Random requests of a sole caller: the cache changes no field of any answer,
// only its source.
TEST_F(DenyCacheTest, AnswersAsTheStoreWould) {
  MemoryStore plain(1000, clock.clock());
  std::mt19937 random(7);
  const auto upto = [&](int most) {
    return static_cast<int>(random() % static_cast<unsigned>(most + 1));
  };
  const Limit inner = simple_limit(std::chrono::milliseconds(700), 2);
  int cached = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::vector<std::string> path = {std::to_string(upto(3)),
                                           std::to_string(upto(2))};
    const int kind = upto(19);
    const Operation operation = kind == 0   ? Operation::kRefund
                                : kind == 1 ? Operation::kSpend
                                : kind < 5  ? Operation::kPeek
                                            : Operation::kAuthorize;
    const std::int64_t cost = upto(4);
    Request ours(operation, path);
    Request theirs(operation, path);
    const Decision a =
        ours.level(limit, 1, cost).level(inner, 2, cost).decide(&cache);
    const Decision b =
        theirs.level(limit, 1, cost).level(inner, 2, cost).decide(&plain);
    ASSERT_EQ(everything(a, ours.plan()), everything(b, theirs.plan())) << i;
    if (a.source == Source::kDenyCache) ++cached;
    clock.advance(std::chrono::milliseconds(upto(300)));
  }
  EXPECT_GT(cached, 1000);
}

// Other callers are denied all the time, and the cache learns from that.  That
// must not outlive a refund: three tokens fit as soon as refund() returns.
TEST(DenyCache, NeverDeniesWhatARefundHasMadeFit) {
  ManualClock clock;
  DenyCache cache(std::make_unique<MemoryStore>(1000, clock.clock()), 1000,
                  clock.clock());
  const Limit limit = simple_limit(std::chrono::hours(1), 3);
  const auto decide = [&](Operation operation, std::int64_t cost) {
    Request request(operation, {"a"});
    return request.level(limit, 1, cost).decide(&cache).limited;
  };
  std::atomic<bool> stop = false;
  std::vector<std::thread> others;
  for (int t = 0; t < 3; ++t) {
    others.emplace_back([&] {
      while (!stop) decide(Operation::kPeek, 3);
    });
  }
  int wrong = 0;
  for (int i = 0; i < 3000; ++i) {
    wrong += decide(Operation::kAuthorize, 1);
    decide(Operation::kPeek, 3);
    decide(Operation::kRefund, 1);
    wrong += decide(Operation::kAuthorize, 3);
    decide(Operation::kRefund, 3);
  }
  stop = true;
  for (std::thread& other : others) other.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(DenyCacheTest, WorksInTheChildOfAFork) {
  exhaust("a");
  std::atomic<bool> stop = false;
  MemoryStore plain(1000, clock.clock());
  DenyCache busy_cache(std::make_unique<MemoryStore>(1000, clock.clock()), 100,
                       clock.clock());
  std::thread busy([&] {
    Plan plan(Operation::kAuthorize);
    plan.segments.emplace_back("busy", Segment::Kind::kCaller);
    plan.add_level(&limit, 0u, 1u, 1);
    while (!stop) (void)busy_cache.decide(&plan);
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    ASSERT_NE(child, -1);
    if (child == 0) {
      alarm(20);
      Request request(Operation::kAuthorize, {"busy"});
      request.level(limit, 1).decide(&busy_cache);
      _exit(decide("a").source == Source::kDenyCache ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  stop = true;
  busy.join();
}

}  // namespace
}  // namespace limitree
