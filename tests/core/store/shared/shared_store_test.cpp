#include "store/shared/shared_store.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/store/manual_clock.hpp"
#include "core/store/shared/file_walk.hpp"
#include "core/store/shared/shared_file.hpp"
#include "core/store/store_cases.hpp"
#include "store/memory/memory_store.hpp"

namespace limitree {
namespace {

class SharedFixture {
 public:
  ~SharedFixture() {
    EXPECT_EQ(faults_in(store_.get()), std::vector<std::string>());
  }
  Store* store() { return store_.get(); }
  void advance(Duration by) { clock_.advance(by); }

 private:
  ManualClock clock_;
  SharedFile file_{1000, clock_.clock()};
  std::unique_ptr<SharedStore> store_ = file_.open();
};

INSTANTIATE_TYPED_TEST_SUITE_P(Shared, StoreCases, SharedFixture);

std::vector<Limit> limits_of_all_kinds() {
  using std::chrono::milliseconds;
  std::vector<Limit> limits;
  for (const Algorithm algorithm :
       {Algorithm::kGcra, Algorithm::kFixedWindow, Algorithm::kSlidingTail,
        Algorithm::kLeakyStep, Algorithm::kSlidingWindow,
        Algorithm::kSlidingLog}) {
    limits.push_back(limit_of(algorithm, 7, milliseconds(50)));
    limits.push_back(limit_of(algorithm, 40, milliseconds(700)));
  }
  return limits;
}

// Random requests of all operations and algorithms, at two stores on one file
// in turn: they answer as one memory store does, and the file stays sound.
TEST(SharedStore, TwoOfThemAnswerAsOneMemoryStore) {
  ManualClock clock;
  const SharedFile file(100'000, clock.clock());
  const std::array<std::unique_ptr<SharedStore>, 2> shared = {file.open(),
                                                              file.open()};
  MemoryStore memory(100'000, clock.clock());
  const std::vector<Limit> limits = limits_of_all_kinds();
  std::mt19937 random(1);
  constexpr std::array kOperations = {
      Operation::kAuthorize, Operation::kAuthorize, Operation::kAuthorize,
      Operation::kPeek,      Operation::kSpend,     Operation::kRefund};
  for (int i = 0; i < 20'000; ++i) {
    clock.advance(std::chrono::microseconds(random() % 3000));
    const Operation operation = kOperations[random() % kOperations.size()];
    const std::size_t first = random() % limits.size();
    const std::size_t second = random() % limits.size();
    // A caller has one limit: what is over by one may count by another.
    const std::string name = std::to_string(100 * first + second) + "/" +
                             std::to_string(random() % 3);
    const auto cost = static_cast<std::int64_t>(random() % 4);
    const auto ask = [&](Store* store) {
      Request request(operation, {name, "inner"});
      request.level(limits[first], 1, cost).level(limits[second], 2, cost);
      const Decision d = request.decide(store);
      return std::array<std::int64_t, 5>{
          d.limited, d.remaining, d.retry_after.count(), d.reset_after.count(),
          d.next_after.count()};
    };
    ASSERT_EQ(ask(shared[random() % 2].get()), ask(&memory)) << i;
  }
  EXPECT_EQ(faults_in(shared[0].get()), std::vector<std::string>());
  EXPECT_EQ(shared[1]->stats().buckets, memory.stats().buckets);
}

TEST(SharedStore, KeepsBucketsWhileNobodyHasItOpen) {
  const SharedFile file;
  const Limit limit = simple_limit(std::chrono::hours(1), 1);
  EXPECT_TRUE(allowed(file.open().get(), limit, "a"));
  EXPECT_FALSE(allowed(file.open().get(), limit, "a"));
  EXPECT_TRUE(allowed(file.open().get(), limit, "b"));
}

TEST(SharedStore, ResetForgetsForAll) {
  const SharedFile file;
  const auto one = file.open();
  const auto other = file.open();
  const Limit limit = simple_limit(std::chrono::hours(1), 1);
  EXPECT_TRUE(allowed(one.get(), limit, "a"));
  EXPECT_FALSE(allowed(other.get(), limit, "a"));
  Request request(Operation::kPeek, {"a"});
  request.level(limit, 1);
  EXPECT_TRUE(other->reset(request.plan()).ok());
  EXPECT_TRUE(allowed(one.get(), limit, "a"));
}

// Tables grow, and the file takes memory for what is used.
TEST(SharedStore, TakesMemoryInProportion) {
  ManualClock clock;
  const SharedFile file(1'000'000, clock.clock());
  const auto store = file.open();
  const std::int64_t empty = store->stats().bytes;
  EXPECT_LT(empty, 100'000);
  const Limit limit = simple_limit(std::chrono::hours(1), 1);
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(allowed(store.get(), limit, std::to_string(i)));
  }
  const StoreStats stats = store->stats();
  EXPECT_EQ(stats.buckets, 100'000);
  EXPECT_EQ(stats.max_buckets, 1'000'000);
  EXPECT_LT(stats.bytes, 32 * 100'000);
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_FALSE(allowed(store.get(), limit, std::to_string(i)));
  }
  EXPECT_EQ(faults_in(store.get()), std::vector<std::string>());
}

TEST(SharedStore, GrowsNoFurtherThanItsMaximum) {
  for (const std::int64_t max : {4, 1000, 20'000}) {
    ManualClock clock;
    const SharedFile file(max, clock.clock());
    const auto store = file.open();
    const Limit limit = simple_limit(std::chrono::hours(1), 10);
    for (int i = 0; i < 50'000; ++i) {
      allowed(store.get(), limit, "flood" + std::to_string(i));
    }
    const StoreStats stats = store->stats();
    EXPECT_LE(stats.buckets, max);
    EXPECT_GE(stats.buckets, max - max / 100);
    EXPECT_EQ(stats.evictions, 50'000 - stats.buckets);
    EXPECT_EQ(faults_in(store.get()), std::vector<std::string>());
  }
}

// The slab of logs is bounded.  The callers who have used least go first.
TEST(SharedStore, LogsTakeBoundedMemory) {
  ManualClock clock;
  SharedFile file(1000, clock.clock());
  file.settings.max_bytes = 48 * 1000 + 64 * 1024;
  const auto store = file.open();
  const Limit limit =
      limit_of(Algorithm::kSlidingLog, 200, std::chrono::hours(1));
  for (int i = 0; i < 200; ++i) {
    clock.advance(std::chrono::microseconds(1));
    ASSERT_TRUE(allowed(store.get(), limit, "busy")) << i;
  }
  for (int caller = 0; caller < 200; ++caller) {
    for (int i = 0; i < 60; ++i) {
      clock.advance(std::chrono::microseconds(1));
      ASSERT_TRUE(allowed(store.get(), limit, std::to_string(caller)));
    }
    ASSERT_FALSE(allowed(store.get(), limit, "busy")) << caller;
  }
  EXPECT_GT(store->stats().evictions, 100);
  EXPECT_EQ(store->stats().forgotten_limited, 0);
  EXPECT_EQ(faults_in(store.get()), std::vector<std::string>());
}

// A log of the same request may have nothing left that counts.
TEST(SharedStore, EvictsNoLogOfTheRequest) {
  ManualClock clock;
  SharedFile file(1000, clock.clock());
  file.settings.max_bytes = 48 * 1000 + 16 * 1024;
  const auto store = file.open();
  const auto log_of = [](std::chrono::seconds period) {
    return limit_of(Algorithm::kSlidingLog, 1000, period);
  };
  const Limit brief = log_of(std::chrono::seconds(1));
  const Limit lasting = log_of(std::chrono::hours(1));
  for (int i = 0; i < 3000; ++i) {
    clock.advance(std::chrono::milliseconds(1100));
    Request request(Operation::kAuthorize, {"a", std::to_string(i % 40)});
    request.level(brief, 1).level(lasting, 2).decide(store.get());
  }
  EXPECT_GT(store->stats().evictions, 10);
  EXPECT_EQ(faults_in(store.get()), std::vector<std::string>());
}

TEST(SharedStore, ALogThatCannotFitIsAnError) {
  ManualClock clock;
  SharedFile file(1000, clock.clock());
  file.settings.max_bytes = 48 * 1000 + 16 * 1024;
  const auto store = file.open();
  const Limit limit =
      limit_of(Algorithm::kSlidingLog, 10'000, std::chrono::hours(1));
  std::string reason;
  for (int i = 0; i < 10'000 && reason.empty(); ++i) {
    clock.advance(std::chrono::microseconds(1));
    reason = failure(store.get(), limit, "a");
  }
  EXPECT_EQ(reason, "shm_full");
  EXPECT_EQ(failure(store.get(), limit, "b"), "");
  // It does not evict the others for nothing.
  const std::int64_t evictions = store->stats().evictions;
  EXPECT_EQ(failure(store.get(), limit, "a"), "shm_full");
  EXPECT_EQ(store->stats().evictions, evictions);
  EXPECT_EQ(store->stats().buckets, 2);
  EXPECT_EQ(faults_in(store.get()), std::vector<std::string>());
}

// Nobody notices it while the file is in use.  The next one to open the file
// sets its clock.
TEST(SharedStore, AClockThatIsSetBackGivesNothingBack) {
  for (const AlgorithmTraits& traits : kAlgorithms) {
    const SharedFile file;
    const Limit limit = limit_of(traits.algorithm, 10, std::chrono::hours(1));
    {
      const auto keeper = file.open();
      keeper->memory().file().header().clock_offset +=
          Duration(std::chrono::hours(5)).count();
      const auto ahead = file.open();  // as the file is: five hours ahead
      for (int i = 0; i < 10; ++i) {
        EXPECT_TRUE(allowed(ahead.get(), limit, "a"));
      }
    }
    const auto store = file.open();
    EXPECT_FALSE(allowed(store.get(), limit, "a")) << traits.name;
    Request request(Operation::kAuthorize, {"a"});
    const Decision decision = request.level(limit, 1).decide(store.get());
    EXPECT_TRUE(decision.limited) << traits.name;
    EXPECT_LE(decision.retry_after, std::chrono::hours(2)) << traits.name;
  }
}

// A disk gets the pages of a file one at a time, so after a power cut the map
// of the slab may be older than the cells.
TEST(SharedStore, IsRepairedAfterARestartOfTheMachine) {
  const SharedFile file;
  const Limit limit =
      limit_of(Algorithm::kSlidingLog, 100, std::chrono::hours(1));
  const auto lose_the_map = [&] {
    const auto store = file.open();
    const shared::MappedFile& mapped = store->memory().file();
    std::fill_n(mapped.at(mapped.layout().map_of(0)), 64, std::byte{});
    return !faults_in(store.get()).empty();
  };
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(allowed(file.open().get(), limit, std::to_string(i)));
  }
  EXPECT_TRUE(lose_the_map());
  EXPECT_FALSE(faults_in(file.open().get()).empty()) << "the same start";
  file.open()->memory().file().header().boot ^= 1;
  const auto store = file.open();
  EXPECT_EQ(faults_in(store.get()), std::vector<std::string>());
  EXPECT_EQ(store->stats().buckets, 10);
}

TEST(SharedStore, TellsWhatItIs) {
  const SharedFile file(5000);
  const auto one = file.open();
  const auto other = file.open();
  const StoreFile facts = one->file().value();
  EXPECT_EQ(facts.path, file.path());
  EXPECT_EQ(facts.version, 2);
  EXPECT_EQ(facts.processes, 2);
  struct stat on_disk {};
  ASSERT_EQ(stat(file.path().c_str(), &on_disk), 0);
  EXPECT_EQ(facts.bytes, on_disk.st_size);
  EXPECT_EQ(on_disk.st_mode & 0777, 0600u);
  EXPECT_EQ(one->stats().max_buckets, 5000);
  EXPECT_TRUE(one->ping().ok());
}

}  // namespace
}  // namespace limitree
