// Several processes with leases of one store never admit more than the limits
// say: random traces, and every window of time between two uses.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "core/store/manual_clock.hpp"
#include "core/store/store_cases.hpp"
#include "store/decorators/lease_cache.hpp"
#include "store/memory/memory_store.hpp"

namespace limitree {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kProcesses = 3;

// The store of one process: that of all.
class Connection final : public Store {
 public:
  Connection(Store* store, std::int64_t* trips)
      : store_(*store), trips_(*trips) {}

  Status decide(Plan* plan) override {
    ++trips_;
    return store_.decide(plan);
  }
  Status reset(const Plan& plan) override { return store_.reset(plan); }
  StoreStats stats() override { return {}; }

 private:
  Store& store_;
  std::int64_t& trips_;
};

struct Use {
  Instant at;
  std::int64_t units;
};

// Whether no window from one use to another has more than `burst` and what is
// regained in it.
bool keeps_to(const std::vector<Use>& uses, Duration interval,
              std::int64_t burst) {
  // What was charged before a use, less the time until then.
  Duration least = Duration::max();
  Duration charged{};
  for (const Use& use : uses) {
    const Duration at = use.at.time_since_epoch();
    least = std::min(least, charged - at);
    charged += interval * use.units;
    if (charged - at - least > interval * burst) return false;
  }
  return true;
}

struct Limits {
  Limit outer;
  Limit inner;
  std::int64_t outer_burst;
  std::int64_t inner_burst;
};

Limits some_limits(std::minstd_rand* random) {
  const auto make = [&](std::int64_t burst, Limit* limit) {
    *limit = simple_limit(milliseconds(1), burst);
    const auto most = static_cast<int>(burst / 2);
    limit->lease = milliseconds(
        std::uniform_int_distribution(most / 4 + 1, most)(*random));
    limit->rate.capacity = leased_capacity(limit->rate, limit->lease);
    limit->denies_ahead = (*random)() % 2 == 0;
  };
  Limits limits;
  limits.outer_burst = std::uniform_int_distribution(20, 200)(*random);
  limits.inner_burst = std::uniform_int_distribution(20, 200)(*random);
  make(limits.outer_burst, &limits.outer);
  make(limits.inner_burst, &limits.inner);
  return limits;
}

TEST(LeaseBound, HoldsForEveryWindow) {
  std::int64_t leased = 0;
  std::int64_t direct = 0;
  for (unsigned trace = 0; trace < 200; ++trace) {
    std::minstd_rand random(trace + 1);
    const Limits limits = some_limits(&random);
    ManualClock clock;
    MemoryStore memory(1000, clock.clock());
    std::int64_t trips = 0;
    std::vector<std::unique_ptr<LeaseCache>> processes;
    for (std::size_t i = 0; i < kProcesses; ++i) {
      processes.push_back(std::make_unique<LeaseCache>(
          std::make_unique<Connection>(&memory, &trips), clock.clock()));
    }
    std::vector<Use> uses;
    // Lulls let units of leases grow old, and bursts use all there is.
    const auto below = [&](std::uint64_t most) {
      return static_cast<std::int64_t>(random() % most);
    };
    const std::uint64_t pace = 700'000U * (1 + random() % 4);
    for (int i = 0; i < 400; ++i) {
      clock.advance(Duration(below(below(50) == 0 ? 90'000'000U : pace)));
      Store& store = *processes[random() % kProcesses];
      const std::int64_t cost = below(8) == 0 ? 1 + below(9) : 1;
      Request request(Operation::kAuthorize, {"a", "b"});
      request.level(limits.outer, 1, cost).level(limits.inner, 2, cost);
      const Decision decision = request.decide(&store);
      if (decision.limited) continue;
      uses.push_back({clock.now(), cost});
      (decision.source == Source::kLease ? leased : direct) += cost;
    }
    EXPECT_TRUE(keeps_to(uses, milliseconds(1), limits.outer_burst)) << trace;
    EXPECT_TRUE(keeps_to(uses, milliseconds(1), limits.inner_burst)) << trace;
  }
  // Both kinds of use were tried.
  EXPECT_GT(leased, 2000);
  EXPECT_GT(direct, 2000);
}

// Eight processes with more requests than the limit admits, at random times.
// Returns the round trips per request, when all know what they use.
double trips_of(std::int64_t times_the_limit) {
  Limit limit = simple_limit(milliseconds(1), 1000);
  limit.lease = milliseconds(100);
  limit.rate.capacity = leased_capacity(limit.rate, limit.lease);
  limit.denies_ahead = true;
  ManualClock clock;
  MemoryStore memory(1000, clock.clock());
  std::int64_t trips = 0;
  std::vector<std::unique_ptr<LeaseCache>> processes;
  for (int i = 0; i < 8; ++i) {
    processes.push_back(std::make_unique<LeaseCache>(
        std::make_unique<Connection>(&memory, &trips), clock.clock()));
  }
  std::minstd_rand random(7);
  std::vector<Use> uses;
  const auto pause = static_cast<std::uint64_t>(2'000'000 / times_the_limit);
  const auto run = [&](std::int64_t requests) {
    for (std::int64_t i = 0; i < requests; ++i) {
      clock.advance(Duration(static_cast<std::int64_t>(random() % pause)));
      Request request(Operation::kAuthorize, {"a"});
      request.level(limit, 1);
      if (request.decide(processes[random() % 8].get()).limited) continue;
      uses.push_back({clock.now(), 1});
    }
  };
  run(2000 * times_the_limit);
  const std::size_t before = uses.size();
  trips = 0;
  const std::int64_t requests = 2000 * times_the_limit;
  const Instant start = clock.now();
  run(requests);
  EXPECT_TRUE(keeps_to(uses, milliseconds(1), 1000));
  const auto most = (clock.now() - start) / milliseconds(1);
  EXPECT_GE(static_cast<double>(uses.size() - before),
            0.98 * static_cast<double>(most));
  return static_cast<double>(trips) / static_cast<double>(requests);
}

TEST(LeaseBound, AheadSavesRoundTripsAboveTheLimit) {
  EXPECT_LE(trips_of(2), 0.10);
  EXPECT_LE(trips_of(10), 0.02);
}

// HoldsForEveryWindow can fail: here the burst is that of no lease.
TEST(LeaseBound, IsBrokenByTheWholeBurst) {
  std::vector<Use> uses;
  const Instant start{};
  uses.push_back({start, 5});
  uses.push_back({start, 10});
  EXPECT_FALSE(keeps_to(uses, milliseconds(1), 10));
  uses[1].at = start + milliseconds(5);
  EXPECT_TRUE(keeps_to(uses, milliseconds(1), 10));
}

}  // namespace
}  // namespace limitree
