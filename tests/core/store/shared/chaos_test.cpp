// Processes without a rest on one file, of which one is killed every 20 ms.
//
// LIMITREE_CHAOS_SECONDS is how long, 10 by default.  If it is set, the machine
// is taken to be idle otherwise, and nobody may have waited for too long.

#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/store/shared/child_process.hpp"
#include "core/store/shared/file_walk.hpp"
#include "core/store/shared/shared_file.hpp"
#include "core/store/store_cases.hpp"
#include "store/buckets/bucket_shards.hpp"

namespace limitree {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr int kWorkers = 8;
constexpr milliseconds kTimeout{50};

// A token every millisecond.
constexpr std::int64_t kHotCapacity = 20'000;
Limit hot_limit() { return simple_limit(milliseconds(1), kHotCapacity); }

struct Tally {
  std::atomic<std::int64_t> decisions{0};
  std::atomic<std::int64_t> admitted{0};  // of the hot bucket
  std::atomic<std::int64_t> busy{0};
  std::atomic<std::int64_t> failures{0};  // for any other reason
  std::atomic<std::int64_t> slowest_ns{0};
};

class Worker {
 public:
  Worker(Store* store, Tally* tally)
      : store_(store),
        tally_(tally),
        random_(static_cast<unsigned>(getpid())) {}

  // One hot bucket, logs and windows that come and go, and many callers.
  void ask() {
    const std::string name = std::to_string(random_() % 1500);
    Plan plan(Operation::kAuthorize);
    plan.segments.emplace_back("hot", Segment::Kind::kExact);
    plan.segments.emplace_back(name, Segment::Kind::kCaller);
    const auto kind = random_() % 3;
    if (kind == 0) {
      plan.add_level(&hot_, 0u, 1u, 1);
    } else if (kind == 1) {
      plan.add_level(&log_, 1u, 1u, 1);
      plan.add_level(&plain_, 1u, 1u, 1);
      plan.add_level(&window_, 0u, 2u, 1);
    } else {
      plan.add_level(&plain_, 0u, 2u, 1);
    }
    const auto start = SteadyClock::now();
    const Status status = store_->decide(&plan);
    note_time((SteadyClock::now() - start).count());
    ++tally_->decisions;
    if (!status.ok()) {
      const bool busy = std::string(status.error().reason) == "shm_busy";
      ++(busy ? tally_->busy : tally_->failures);
    } else if (kind == 0 && !plan.levels[0].verdict.limited) {
      ++tally_->admitted;
    }
  }

 private:
  void note_time(std::int64_t took) {
    std::int64_t slowest = tally_->slowest_ns;
    while (took > slowest &&
           !tally_->slowest_ns.compare_exchange_weak(slowest, took)) {
    }
  }

  Store* const store_;
  Tally* const tally_;
  std::mt19937 random_;
  const Limit hot_ = hot_limit();
  const Limit plain_ = simple_limit(milliseconds(10), 5);
  const Limit log_ =
      limit_of(Algorithm::kSlidingLog, 30, std::chrono::seconds(2));
  const Limit window_ = limit_of(Algorithm::kFixedWindow, 5, milliseconds(500));
};

int work(const SharedFile& file, Tally* tally) {
  const auto store = file.open();
  if (store == nullptr) return 1;
  Worker worker(store.get(), tally);
  for (;;) worker.ask();
}

class SharedChaos : public testing::Test {
 protected:
  // Few shards, so that locks are often held.
  explicit SharedChaos(std::int64_t max_buckets = 16'384) : file_(max_buckets) {
    file_.settings.timeout = kTimeout;
  }

  void kill(std::size_t which) {
    workers_[which].send(SIGKILL);
    ASSERT_EQ(workers_[which].wait(), 1000 + SIGKILL);
    ++kills_;
  }

  void run(std::chrono::seconds time) {
    const auto end = start_ + time;
    for (int i = 0; i < kWorkers; ++i) workers_.push_back(new_worker());
    std::mt19937 random(1);
    while (SteadyClock::now() < end) {
      std::this_thread::sleep_for(milliseconds(20));
      const auto which = random() % kWorkers;
      kill(which);
      new (&workers_[which]) ChildProcess(new_worker());
    }
    for (std::size_t i = 0; i < kWorkers; ++i) kill(i);
    lasted_ = std::chrono::ceil<milliseconds>(SteadyClock::now() - start_);
  }

  void print() {
    const auto number = [](std::int64_t value) {
      return static_cast<long long>(value);
    };
    std::printf(
        "%lld kills, %lld decisions, %lld busy, slowest %.1f ms, admitted %lld "
        "of %lld\n",
        number(kills_), number(tally_->decisions), number(tally_->busy),
        static_cast<double>(tally_->slowest_ns) / 1e6, number(tally_->admitted),
        number(kHotCapacity + lasted_.count()));
  }

  ChildProcess new_worker() {
    return ChildProcess([this] { return work(file_, tally_.operator->()); });
  }

  SharedFile file_;
  CommonMemory<Tally> tally_;
  const SteadyClock::time_point start_ = SteadyClock::now();
  std::vector<ChildProcess> workers_;
  std::int64_t kills_ = 0;
  milliseconds lasted_{};
};

TEST_F(SharedChaos, KilledProcessesChargeInPartAtMost) {
  const char* const seconds = std::getenv("LIMITREE_CHAOS_SECONDS");
  const auto store = file_.open();
  run(std::chrono::seconds(seconds == nullptr ? 10 : std::atoi(seconds)));
  print();
  EXPECT_LE(tally_->admitted, kHotCapacity + lasted_.count() + 1);
  // The bucket has not been full since its first second.  What was charged and
  // is not counted, processes charged that were killed before they counted it.
  Request peek(Operation::kPeek, {"hot"});
  peek.level(hot_limit(), 1, 0).decide(store.get());
  const std::int64_t used = kHotCapacity - peek.verdict(0).remaining;
  EXPECT_GE(tally_->admitted + kills_ + 1000, used + lasted_.count());
  EXPECT_EQ(tally_->failures, 0);
  EXPECT_LE(tally_->busy, tally_->decisions / 20);
  const milliseconds most =
      kTimeout + (seconds == nullptr ? milliseconds(2000) : milliseconds(20));
  EXPECT_LE(tally_->slowest_ns, Duration(most).count());
  EXPECT_EQ(faults_in(store.get()), std::vector<std::string>());
  EXPECT_EQ(store->stats().evictions, 0);
  EXPECT_EQ(store->file()->processes, 1);
}

// Tables and logs that are always full.
class SmallSharedChaos : public SharedChaos {
 protected:
  SmallSharedChaos() : SharedChaos(300) {
    file_.settings.max_bytes = 300 * kTableBytes + 16 * 1024;
  }
};

TEST_F(SmallSharedChaos, KilledProcessesLeaveItSound) {
  const auto store = file_.open();
  run(std::chrono::seconds(3));
  EXPECT_EQ(tally_->failures, 0);
  EXPECT_GT(store->stats().evictions, 1000);
  EXPECT_EQ(faults_in(store.get()), std::vector<std::string>());
}

}  // namespace
}  // namespace limitree
