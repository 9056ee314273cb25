// Several event loops over one limiter, each on a thread of its own.

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "capi/capi_redis.hpp"
#include "core/sanitizers.hpp"

namespace loop_threads_test {
namespace {

using namespace limitree::capi_test;
using namespace std::chrono_literals;

constexpr int kWorkers = 4;
constexpr int kInFlight = 64;

// A loop, and the thread that runs it.  Its counters may be read by others.
class Worker {
 public:
  explicit Worker(std::string user = "all") : user_(std::move(user)) {}

  static void put(const limitree_completion* completions, size_t count,
                  void* worker) {
    for (size_t i = 0; i < count; ++i) {
      static_cast<Worker*>(worker)->take(completions[i]);
    }
  }

  // Makes calls, several at a time, as long as `more` says so; then waits for
  // all answers.  On the thread of this loop.
  void work(const std::function<bool()>& more) {
    thread_ = std::this_thread::get_id();
    while (more() || waiting() > 0) {
      while (more() && waiting() < kInFlight) start();
      if (waiting() == 0) continue;
      pollfd watched = {limitree_loop_fd(loop.get()), POLLIN, 0};
      ASSERT_EQ(poll(&watched, 1, 20'000), 1) << waiting() << " get no answer";
      limitree_loop_run(loop.get());
    }
  }

  void start() {
    thread_ = std::this_thread::get_id();
    const limitree_str path[] = {{"job", 3}, str(user_)};
    limitree_completion now{};
    limitree_error* error = nullptr;
    ++started;
    now.status = limitree_authorize_async(loop.get(), path, 2, 1, mark_,
                                          &now.decision, &error);
    now.request = mark_;
    if (now.status != LIMITREE_PENDING) take(now);
    limitree_error_free(error);
  }

  int waiting() const { return started - completed; }

  // In the child of a fork(): what is under way is the parent's.
  void start_anew() {
    mark_ = &started;
    started = completed = allowed = misplaced = 0;
  }

  std::atomic<int> started = 0;
  std::atomic<int> completed = 0;
  std::atomic<int> allowed = 0;
  std::atomic<int> limited = 0;
  std::atomic<int> failed = 0;
  std::atomic<int> cancelled = 0;
  std::atomic<int> misplaced = 0;  // on another thread, or of another loop

 private:
  void take(const limitree_completion& completion) {
    ++completed;
    if (completion.request != mark_ ||
        std::this_thread::get_id() != thread_.load()) {
      ++misplaced;
    }
    if (completion.status == LIMITREE_CANCELLED) {
      ++cancelled;
    } else if (completion.status != LIMITREE_OK) {
      ++failed;
    } else {
      ++(completion.decision.limited != 0 ? limited : allowed);
    }
  }

  const std::string user_;
  std::atomic<std::thread::id> thread_;
  void* mark_ = this;

 public:
  Limiter loop;  // goes first, and completes what is pending
};

class CapiLoopThreads : public CapiRedis {
 protected:
  void use(const std::string& at, const std::string& limits,
           const Options& options) {
    limiter = limiter_on(at, Worker::put, nullptr, options);
    reload(limiter,
           "schema: {job: {children: {'*': {limits: " + limits + "}}}}");
    for (auto& worker : workers) {
      worker = std::make_unique<Worker>();
      worker->loop = new_loop(limiter, worker.get());
    }
  }

  // Runs `body` for each worker, on a thread of its own.
  std::vector<std::thread> on_threads(
      const std::function<void(Worker&)>& body) {
    std::vector<std::thread> threads;
    for (auto& worker : workers) {
      threads.emplace_back(body, std::ref(*worker));
    }
    return threads;
  }

  static void join(std::vector<std::thread>& threads) {
    for (std::thread& thread : threads) thread.join();
  }

  int sum(std::atomic<int> Worker::*counter) const {
    int sum = 0;
    for (const auto& worker : workers) sum += (*worker).*counter;
    return sum;
  }

  // Waits until that counter of every worker has grown by more than 100.
  bool all_grow(std::atomic<int> Worker::*counter) const {
    const auto end = std::chrono::steady_clock::now() + 20s;
    std::vector<int> before;
    for (const auto& worker : workers) before.push_back((*worker).*counter);
    for (std::size_t i = 0; i < before.size(); ++i) {
      while ((*workers[i]).*counter <= before[i] + 100) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(1ms);
      }
    }
    return true;
  }

  Limiter limiter;
  std::unique_ptr<Worker> workers[kWorkers];
};

// ---- one limit for all ------------------------------------------------------

class CapiLoopThreadsExact : public CapiLoopThreads,
                             public testing::WithParamInterface<const char*> {};

TEST_P(CapiLoopThreadsExact, AdmitTheLimitAndNoMore) {
  constexpr int kCalls = 5000;
  use(url(), "1000/day", {{"deny_cache", GetParam()}});
  std::vector<std::thread> threads = on_threads([](Worker& worker) {
    worker.work([&] { return worker.started < kCalls; });
  });
  // Meanwhile others use the same limiter.
  for (int i = 0; i < 20; ++i) {
    reload(limiter, "schema: {job: {children: {'*': {limits: 1000/day}}}}");
    EXPECT_LE(stats_of(workers[i % kWorkers]->loop)["allowed"], 1000);
    std::this_thread::sleep_for(1ms);
  }
  join(threads);
  EXPECT_EQ(sum(&Worker::completed), kWorkers * kCalls);
  EXPECT_EQ(sum(&Worker::allowed), 1000);
  EXPECT_EQ(sum(&Worker::limited), kWorkers * kCalls - 1000);
  EXPECT_EQ(sum(&Worker::misplaced), 0);
  const limitree::Counters stats = stats_of(limiter);
  EXPECT_EQ(stats["allowed"], 1000);
  EXPECT_EQ(stats["limited"], kWorkers * kCalls - 1000);
  EXPECT_EQ(stats["errors"], 0);
  EXPECT_EQ(stats["connects"], kWorkers) << "one for each loop that is used";
}

INSTANTIATE_TEST_SUITE_P(DenyCache, CapiLoopThreadsExact,
                         testing::Values("on", "off"));

// ---- an outage --------------------------------------------------------------

TEST_F(CapiLoopThreads, OutlastAServerThatIsKilled) {
  RedisServer mortal;
  use(url_of(mortal), "1000000000/day",
      {{"timeout", "500ms"}, {"on_store_error", "raise"}});
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads =
      on_threads([&](Worker& worker) { worker.work([&] { return !stop; }); });
  EXPECT_TRUE(all_grow(&Worker::allowed));
  for (int round = 0; round < 3; ++round) {
    mortal.kill();
    EXPECT_TRUE(all_grow(&Worker::failed));
    mortal.start();
    EXPECT_TRUE(all_grow(&Worker::allowed)) << "all loops come back";
  }
  stop = true;
  join(threads);
  EXPECT_EQ(sum(&Worker::completed), sum(&Worker::started));
  EXPECT_EQ(sum(&Worker::misplaced), 0);
  const limitree::Counters stats = stats_of(limiter);
  EXPECT_EQ(stats["allowed"], sum(&Worker::allowed));
  EXPECT_EQ(stats["errors"], sum(&Worker::failed));
  EXPECT_EQ(stats["store_errors"], sum(&Worker::failed));
  EXPECT_GE(stats["connects"], 4 * kWorkers) << "at first, and in each round";
}

// One server is in failure, not four: when one loop has found out, the others
// do not try.
TEST_F(CapiLoopThreads, KnowTogetherThatAServerIsDown) {
  RedisServer gone;
  const std::string dead = url_of(gone);
  gone.stop();
  use(dead, "1000/day", {{"on_store_error", "raise"}});
  Worker& scout = *workers[0];
  while (scout.failed < 20) {
    const int before = scout.failed;
    scout.work([&] { return scout.failed == before && scout.waiting() == 0; });
  }
  const auto refused = [&] {
    std::int64_t troubles = 0;
    for (const limitree::Counters& one :
         limitree::counters(limiter.get(), LIMITREE_SCOPE_REASONS)) {
      if (one.label == "refused") troubles = one["troubles"];
    }
    return troubles;
  };
  const std::int64_t before = refused();
  EXPECT_LT(before, 20) << "the circuit is open";
  for (auto& worker : workers) {
    worker->work([&] { return worker->started < scout.started; });
  }
  EXPECT_LE(refused(), before + 8) << "each loop has tried on its own";
}

// ---- the end ----------------------------------------------------------------

TEST_F(CapiLoopThreads, AreFreedWithCallsInFlight) {
  for (int round = 0; round < 20; ++round) {
    use(url(), "1000000/day", {});
    std::vector<std::thread> threads = on_threads([&](Worker& worker) {
      worker.work([&] { return worker.started < 50; });
      for (int i = 0; i < 200; ++i) {
        worker.start();
        if (i % 32 == 0) limitree_loop_run(worker.loop.get());
      }
      worker.loop.reset();
    });
    limiter.reset();  // before the others
    join(threads);
    for (const auto& worker : workers) {
      EXPECT_EQ(worker->completed, 250);
      EXPECT_EQ(worker->allowed + worker->cancelled, 250);
      EXPECT_GT(worker->cancelled, 0);
      EXPECT_EQ(worker->misplaced, 0);
    }
  }
}

TEST_F(CapiLoopThreads, ComeAndGoWhileOthersWork) {
  use(url(), "1000000/day", {});
  std::vector<std::thread> threads = on_threads([&](Worker& worker) {
    worker.work([&] { return worker.started < 1000; });
  });
  for (int i = 0; i < 50; ++i) {
    Worker guest("guest");
    guest.loop = new_loop(limiter, &guest);
    guest.work([&] { return guest.started < 10; });
    EXPECT_EQ(guest.allowed, 10);
  }
  join(threads);
  EXPECT_EQ(sum(&Worker::allowed), kWorkers * 1000);
  EXPECT_EQ(stats_of(limiter)["allowed"], kWorkers * 1000 + 500);
}

// ---- fork -------------------------------------------------------------------

// The child may use every loop, and gets none of the parent's answers.
TEST_F(CapiLoopThreads, GoOnInBothProcessesAfterFork) {
  if (limitree::kAddressSanitized) {
    GTEST_SKIP() << "its allocator may hold a lock when another thread forks";
  }
  use(url(), "1000000/day", {});
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads =
      on_threads([&](Worker& worker) { worker.work([&] { return !stop; }); });
  for (int round = 0; round < 20; ++round) {
    EXPECT_TRUE(all_grow(&Worker::allowed));
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      bool good = true;
      for (auto& worker : workers) {
        worker->start_anew();
        worker->work([&] { return worker->started < 10; });
        good = good && worker->allowed == 10 && worker->completed == 10 &&
               worker->misplaced == 0;
      }
      _exit(good ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  join(threads);
  EXPECT_EQ(sum(&Worker::completed), sum(&Worker::started));
  EXPECT_EQ(sum(&Worker::failed), 0);
}

}  // namespace
}  // namespace loop_threads_test
