#include "store/memory/memory_store.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <list>
#include <thread>
#include <utility>

#include "core/store/manual_clock.hpp"
#include "core/store/store_cases.hpp"

namespace limitree {
namespace {

class MemoryFixture {
 public:
  Store* store() { return &store_; }
  void advance(Duration by) { clock_.advance(by); }

 private:
  ManualClock clock_;
  MemoryStore store_{1000, clock_.clock()};
};

INSTANTIATE_TYPED_TEST_SUITE_P(Memory, StoreCases, MemoryFixture);

// A request for one bucket.
bool allowed(Store* store, const Limit& limit, const std::string& name) {
  return !Request(Operation::kAuthorize, {name})
              .level(limit, 1)
              .decide(store)
              .limited;
}

template <typename Body>
void on_threads(int count, Body body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

TEST(MemoryStore, AdmitsExactlyTheCapacityWhateverTheThreads) {
  ManualClock clock;
  MemoryStore store(1000, clock.clock());
  const Limit limit = simple_limit(std::chrono::hours(1), 5000);
  std::atomic<int> admitted = 0;
  on_threads(8, [&](int) {
    for (int i = 0; i < 2000; ++i) admitted += allowed(&store, limit, "hot");
  });
  EXPECT_EQ(admitted, 5000);
}

// Half of the threads ask one level, the others that and one below it, which is
// decided in another way if it is a window.
TEST(MemoryStore, AdmitsExactlyTheCapacityAtOneLevelAndTwo) {
  for (const AlgorithmTraits& traits : kAlgorithms) {
    ManualClock clock;
    MemoryStore store(1000, clock.clock());
    const Limit root = simple_limit(std::chrono::hours(1), 5000);
    const Limit leaf = limit_of(traits.algorithm, 600, std::chrono::hours(1));
    std::atomic<int> admitted = 0;
    std::atomic<int> below = 0;
    on_threads(8, [&](int thread) {
      for (int i = 0; i < 2000; ++i) {
        Request request(Operation::kAuthorize, {"hot", "leaf"});
        request.level(root, 1);
        if (thread % 2 != 0) request.level(leaf, 2);
        if (request.decide(&store).limited) continue;
        ++admitted;
        below += thread % 2;
      }
    });
    EXPECT_EQ(admitted, 5000) << traits.rule;
    Request rest(Operation::kPeek, {"hot", "leaf"});  // of cost 0
    EXPECT_EQ(rest.level(leaf, 2, 0).decide(&store).remaining, 600 - below)
        << traits.rule;
  }
}

// More threads than processors, with the system's clock: a thread that did not
// run between reading it and taking the lock gives nothing back.
TEST(MemoryStore, AdmitsNoMoreThanTheRateWhateverTheThreads) {
  MemoryStore store(1000);
  const Limit limit = simple_limit(std::chrono::milliseconds(1), 100);
  const auto start = std::chrono::steady_clock::now();
  std::atomic<int> admitted = 0;
  on_threads(16, [&](int) {
    while (std::chrono::steady_clock::now() - start <
           std::chrono::milliseconds(300)) {
      for (int i = 0; i < 100; ++i) admitted += allowed(&store, limit, "hot");
    }
  });
  const auto took = std::chrono::ceil<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - start);
  EXPECT_LE(admitted, 100 + took.count() + 1);
  EXPECT_GE(admitted, 100);
}

// The clock as a thread reads it that then does not run for a while: once it
// shows an earlier time.
class LateClock {
 public:
  Clock clock() { return Clock(read, this); }
  void advance(Duration by) { now_ += by.count(); }
  void be_late_once(Duration by) { late_ = by.count(); }

 private:
  static std::int64_t read(void* self) {
    auto& clock = *static_cast<LateClock*>(self);
    return clock.now_ - std::exchange(clock.late_, 0);
  }

  std::int64_t now_ = 1'750'000'001'000'000'000;  // early in a window
  std::int64_t late_ = 0;
};

// The answers to a caller that comes every 900 ms, from an empty bucket on.
// The first request is `late`.
std::string answers(const Limit& limit, Duration late) {
  LateClock clock;
  MemoryStore store(1000, clock.clock());
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(allowed(&store, limit, "a"));
  clock.be_late_once(late);
  std::string answers;
  for (int i = 0; i < 30; ++i) {
    answers += allowed(&store, limit, "a") ? '+' : '-';
    clock.advance(std::chrono::milliseconds(900));
  }
  return answers;
}

TEST(MemoryStore, ARequestThatComesLateGivesNothingBack) {
  for (const AlgorithmTraits& traits : kAlgorithms) {
    const Limit limit =
        limit_of(traits.algorithm, 10, std::chrono::seconds(10));
    EXPECT_EQ(answers(limit, std::chrono::seconds(5)),
              answers(limit, Duration()))
        << traits.rule;
  }
}

// Inserts of new buckets may race with each other.
TEST(MemoryStore, AdmitsOneOfManyFirstRequests) {
  ManualClock clock;
  MemoryStore store(100'000, clock.clock());
  const Limit limit = simple_limit(std::chrono::hours(1), 1);
  std::atomic<int> admitted = 0;
  on_threads(8, [&](int) {
    for (int i = 0; i < 3000; ++i) {
      admitted += allowed(&store, limit, "new" + std::to_string(i));
    }
  });
  EXPECT_EQ(admitted, 3000);
  EXPECT_EQ(store.stats().buckets, 3000);
}

// Two outer buckets with four inner ones each: in every interleaving, an outer
// bucket is charged exactly as often as its inner ones together.
TEST(MemoryStore, LevelsNeverDisagree) {
  ManualClock clock;
  MemoryStore store(1000, clock.clock());
  const Limit outer = simple_limit(std::chrono::hours(1), 3000);
  const Limit inner = simple_limit(std::chrono::hours(1), 1000);
  on_threads(8, [&](int thread) {
    for (int i = 0; i < 2000; ++i) {
      Request(Operation::kAuthorize,
              {"outer" + std::to_string((thread + i) % 2),
               "inner" + std::to_string(i % 4)})
          .level(outer, 1)
          .level(inner, 2)
          .decide(&store);
    }
  });
  for (const std::string name : {"outer0", "outer1"}) {
    Request whole(Operation::kPeek, {name});
    whole.level(outer, 1, 0).decide(&store);
    std::int64_t parts = 0;
    for (int i = 0; i < 4; ++i) {
      Request part(Operation::kPeek, {name, "inner" + std::to_string(i)});
      part.level(inner, 2, 0).decide(&store);
      parts += 1000 - part.verdict(0).remaining;
    }
    EXPECT_EQ(3000 - whole.verdict(0).remaining, parts) << name;
    EXPECT_GT(parts, 0);
  }
}

TEST(MemoryStore, PeeksWithoutWriting) {
  ManualClock clock;
  MemoryStore store(1000, clock.clock());
  const Limit limit = simple_limit(std::chrono::seconds(1), 1);
  Plan plan(Operation::kAuthorize);
  plan.segments.emplace_back("a", Segment::Kind::kCaller);
  plan.add_level(&limit, 0u, 1u, 1);
  for (int i = 0; i < 3; ++i) {
    store.peek(&plan, clock.now());
    EXPECT_FALSE(plan.levels[0].verdict.limited);
    EXPECT_FALSE(plan.levels[0].verdict.charged);
  }
  EXPECT_EQ(store.stats().buckets, 0);
}

TEST(MemoryStore, LearnsWhatOthersOwe) {
  ManualClock clock;
  MemoryStore there(1000, clock.clock());
  MemoryStore here(1000, clock.clock());
  const Limit limit = simple_limit(std::chrono::seconds(1), 4);
  Request two(Operation::kAuthorize, {"a"});
  two.level(limit, 1, 2).decide(&there);
  Request one(Operation::kAuthorize, {"a"});
  one.level(limit, 1, 1).decide(&there);
  const auto left = [&] {
    Request peek(Operation::kPeek, {"a"});
    return peek.level(limit, 1, 0).decide(&here).remaining;
  };
  here.learn(one.plan(), clock.now(), here.forgets());
  EXPECT_EQ(left(), 1);
  here.learn(two.plan(), clock.now(), here.forgets());
  EXPECT_EQ(left(), 1) << "a bucket known to owe more";

  const std::uint64_t before = here.forgets();
  here.forget(one.plan());
  here.learn(one.plan(), clock.now(), before);
  EXPECT_EQ(left(), 4) << "older than what was forgotten";
  here.learn(one.plan(), clock.now(), here.forgets());
  EXPECT_EQ(left(), 1);
}

TEST(MemoryStore, ClearForgetsEveryBucketAndGivesMemoryBack) {
  ManualClock clock;
  MemoryStore store(100'000, clock.clock());
  const Limit limit = simple_limit(std::chrono::hours(1), 1);
  for (int i = 0; i < 10'000; ++i) {
    allowed(&store, limit, std::to_string(i));
  }
  store.clear();
  EXPECT_EQ(store.stats().buckets, 0);
  EXPECT_EQ(store.stats().bytes, 0);
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_TRUE(allowed(&store, limit, std::to_string(i)));
    EXPECT_FALSE(allowed(&store, limit, std::to_string(i)));
  }
}

// Requests that lock the same shards in opposite orders must not deadlock.
TEST(MemoryStore, CrossingRequestsFinish) {
  ManualClock clock;
  MemoryStore store(1'000'000, clock.clock());
  const Limit limit = simple_limit(Duration(1), 1'000'000);
  on_threads(4, [&](int thread) {
    for (int i = 0; i < 5000; ++i) {
      Plan plan(Operation::kAuthorize);
      const std::string names[] = {"a" + std::to_string(i % 7),
                                   "b" + std::to_string(i % 5)};
      for (std::uint32_t k = 0; k < 2; ++k) {
        const std::uint32_t which = thread % 2 == 0 ? k : 1 - k;
        plan.segments.emplace_back(names[which], Segment::Kind::kCaller);
        plan.add_level(&limit, k, 1u, 1);
      }
      ASSERT_TRUE(store.decide(&plan).ok());
    }
  });
}

TEST(MemoryStore, GrowsNoFurtherThanItsMaximum) {
  for (const std::int64_t max : {4, 1000, 20'000}) {
    ManualClock clock;
    MemoryStore store(max, clock.clock());
    const Limit limit = simple_limit(std::chrono::hours(1), 10);
    for (int i = 0; i < 200'000; ++i) {
      allowed(&store, limit, "flood" + std::to_string(i));
    }
    const StoreStats stats = store.stats();
    EXPECT_EQ(stats.max_buckets, max);
    EXPECT_LE(stats.buckets, max);
    EXPECT_GE(stats.buckets, max - max / 100);
    // 16 bytes for each bucket, and the rounding of pages.
    EXPECT_LE(stats.bytes, max * 16 + 4 * 4096);
    EXPECT_EQ(stats.evictions, 200'000 - stats.buckets);
  }
}

TEST(MemoryStore, ForgetsHardlyAnyUpToTwoThirdsOfItsMaximum) {
  ManualClock clock;
  MemoryStore store(150'000, clock.clock());
  const Limit limit = simple_limit(std::chrono::hours(1), 1);
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(allowed(&store, limit, "caller" + std::to_string(i)));
  }
  int forgotten = 0;
  for (int i = 0; i < 100'000; ++i) {
    forgotten += allowed(&store, limit, "caller" + std::to_string(i));
  }
  // One in some thousand windows of the table is full by bad luck; a caller
  // that was evicted replaces another one when it asks again.
  EXPECT_LE(forgotten, 300);
  EXPECT_LE(store.stats().bytes, 28 * 100'000);
}

// A limited caller owes most, and survives any number of newcomers.
TEST(MemoryStore, NeverForgetsALimitedCallerInAFlood) {
  ManualClock clock;
  MemoryStore store(1000, clock.clock());
  const Limit limit = simple_limit(std::chrono::seconds(1), 10);
  for (int i = 0; i < 10; ++i) allowed(&store, limit, "limited");
  for (int i = 0; i < 100'000; ++i) {
    allowed(&store, limit, "flood" + std::to_string(i));
    ASSERT_FALSE(allowed(&store, limit, "limited")) << i;
  }
}

// A flood of keys that owe hours evicts none that owe a minute, but all of it:
// the used share counts, not the seconds.
TEST(MemoryStore, ForgetsNoLimitedCallerForAFloodUnderALongerLimit) {
  ManualClock clock;
  MemoryStore store(1000, clock.clock());
  const Limit minute = simple_limit(std::chrono::seconds(12), 5);
  const Limit day = simple_limit(std::chrono::hours(8), 3);
  for (int i = 0; i < 200; ++i) {
    for (int k = 0; k < 5; ++k) {
      ASSERT_TRUE(allowed(&store, minute, "limited" + std::to_string(i)));
    }
  }
  for (int i = 0; i < 50'000; ++i) {
    allowed(&store, day, "flood" + std::to_string(i));
  }
  for (int i = 0; i < 200; ++i) {
    EXPECT_FALSE(allowed(&store, minute, "limited" + std::to_string(i))) << i;
  }
  const StoreStats stats = store.stats();
  EXPECT_GT(stats.evictions, 40'000);
  EXPECT_EQ(stats.forgotten_limited, 0);
}

// There is room for a thousand, and all of five thousand are at their limits.
TEST(MemoryStore, CountsTheLimitedThatItForgets) {
  ManualClock clock;
  MemoryStore store(1000, clock.clock());
  const Limit limit = simple_limit(std::chrono::hours(1), 1);
  for (int i = 0; i < 5000; ++i) {
    ASSERT_TRUE(allowed(&store, limit, std::to_string(i)));
  }
  const StoreStats stats = store.stats();
  EXPECT_EQ(stats.forgotten_limited, stats.evictions);
  EXPECT_EQ(stats.forgotten_limited, 5000 - stats.buckets);
}

// A reload turns a second into an hour: later charges are measured by the new
// limit.
TEST(MemoryStore, MeasuresByTheLimitOfTheLastCharge) {
  ManualClock clock;
  MemoryStore store(4, clock.clock());
  const Limit second = simple_limit(std::chrono::seconds(1), 1);
  const Limit hour = simple_limit(std::chrono::hours(1), 10);
  const Limit minute = simple_limit(std::chrono::minutes(1), 2);
  ASSERT_TRUE(allowed(&store, second, "a"));
  clock.advance(std::chrono::seconds(1));
  ASSERT_TRUE(allowed(&store, hour, "a"));
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 2; ++k) {
      ASSERT_TRUE(allowed(&store, minute, std::to_string(i)));
    }
  }
  ASSERT_TRUE(allowed(&store, hour, "newcomer"));
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(allowed(&store, minute, std::to_string(i)));
  }
  EXPECT_EQ(store.stats().forgotten_limited, 0);
}

TEST(MemoryStore, ReusesWhatHasExpired) {
  ManualClock clock;
  MemoryStore store(1000, clock.clock());
  const Limit limit = simple_limit(std::chrono::milliseconds(1), 1);
  for (int i = 0; i < 300'000; ++i) {
    ASSERT_TRUE(allowed(&store, limit, std::to_string(i)));
    clock.advance(std::chrono::microseconds(10));
  }
  const StoreStats stats = store.stats();
  EXPECT_LE(stats.buckets, 101);
  EXPECT_EQ(stats.evictions, 0);
  EXPECT_LE(stats.bytes, 1000 * 16 + 4096);
}

// The smallest table has fewer slots than this request has levels.
TEST(MemoryStore, DecidesMoreLevelsThanItCanKeep) {
  ManualClock clock;
  MemoryStore store(1, clock.clock());
  const Limit limit = simple_limit(std::chrono::hours(1), 2);
  Request request(Operation::kAuthorize, std::vector<std::string>(20, "x"));
  for (std::uint32_t depth = 1; depth <= 20; ++depth) {
    request.level(limit, depth);
  }
  EXPECT_FALSE(request.decide(&store).limited);
  EXPECT_LE(store.stats().bytes, 4096);
}

TEST(MemoryStore, SurvivesAnyClock) {
  ManualClock clock;
  MemoryStore store(1000, clock.clock());
  const Limit limit = simple_limit(std::chrono::days(1), 36525);
  for (const Instant now : {Instant::min(), Instant::max(), Instant(),
                            Instant::max() - Duration(1)}) {
    clock.set(now);
    const Decision decision =
        Request(Operation::kAuthorize, {"a"}).level(limit, 1).decide(&store);
    EXPECT_GE(decision.remaining, 0);
    EXPECT_LE(decision.remaining, 36525);
  }
}

// fork() while other threads decide: the child has the locks it needs, and
// counts for itself.  The threads do not allocate, because the allocator of a
// sanitizer may stay locked in the child.
TEST(MemoryStore, WorksInTheChildOfAFork) {
  ManualClock clock;
  MemoryStore store(1000, clock.clock());
  const Limit limit = simple_limit(std::chrono::hours(1), 800'000);
  const Limit tight = simple_limit(std::chrono::hours(1), 1);
  std::atomic<bool> stop = false;
  std::atomic<int> ready = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      std::list<Request> requests;
      for (int i = 0; i < 100; ++i) {
        requests
            .emplace_back(Operation::kAuthorize,
                          std::vector<std::string>{std::to_string(i)})
            .level(limit, 1);
      }
      ++ready;
      while (!stop) {
        for (Request& request : requests) request.decide(&store);
      }
    });
  }
  while (ready < 3) std::this_thread::yield();
  for (int i = 0; i < 50; ++i) {
    const std::string name = "child" + std::to_string(i);
    const pid_t child = fork();
    ASSERT_NE(child, -1);
    if (child == 0) {
      alarm(20);  // a lock that stays locked ends here
      bool good = allowed(&store, tight, name) && !allowed(&store, tight, name);
      for (int k = 0; k < 100; ++k) {
        good &= allowed(&store, limit, std::to_string(k));
      }
      _exit(good ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_TRUE(allowed(&store, tight, name)) << "the child's count is its own";
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace limitree
