// Threads that keep counting on servers while a test disturbs the servers.

#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/store/redis/count_task.hpp"
#include "core/store/redis/lateness.hpp"
#include "store/redis/common/remote.hpp"
#include "store/redis/route/make_router.hpp"
#include "store/remote/common/traffic.hpp"
#include "store/remote/drivers/blocking_driver.hpp"

namespace limitree::redis {

// The parts of a store that find servers and send commands.
class Calls {
 public:
  explicit Calls(Settings settings)
      : settings_(std::move(settings)),
        router_(make_router(settings_, &traffic_)),
        driver_(router_.get(), settings_) {}

  virtual ~Calls() = default;

  const Settings& settings() const { return settings_; }

  // Returns when it is done.
  virtual void run(Task* task) { driver_.run(task, settings_.timeout); }

  // Returns "" if the count succeeded, else why it failed.
  std::string count(std::string_view key) {
    CountTask task(key);
    run(&task);
    return task.outcome.failure == Failure::kNone ? "" : task.outcome.detail;
  }

 protected:
  Router* router() const { return router_.get(); }

 private:
  const Settings settings_;
  Traffic traffic_;
  const std::unique_ptr<Router> router_;
  BlockingDriver driver_;
};

// Counts each of `keys` in its own thread, until stop().
class Load {
 public:
  Load(Calls* calls, std::vector<std::string> keys)
      : calls_(calls), keys_(std::move(keys)) {
    for (const std::string& key : keys_) {
      threads_.emplace_back([this, &key] { work(key); });
    }
  }
  ~Load() { stop(); }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  void stop() {
    done_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  int counted() const { return counted_; }  // acknowledged
  int unknown() const { return unknown_; }  // sent, but no answer came
  int refused() const { return refused_; }  // certainly not counted
  std::string last_failure() const {
    const std::lock_guard lock(mutex_);
    return last_failure_;
  }

  // How much longer than its deadline the slowest call took; negative if none
  // took longer.  Time in which the caller, or another thread that may read for
  // it, had no processor does not count, nor how late the machine wakes these
  // two.
  Duration overrun() const {
    return Duration(longest_.load()) - calls_->settings().timeout -
           2 * lateness_.worst();
  }

  // Waits until kEnough calls in a row have succeeded.  False if that takes
  // longer than `patience`.
  bool recovers(Duration patience = std::chrono::seconds(20)) const {
    constexpr int kEnough = 200;
    const auto deadline = std::chrono::steady_clock::now() + patience;
    for (int counted = counted_, bad = unknown_ + refused_;
         counted_ < counted + kEnough;) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (bad == unknown_ + refused_) continue;
      counted = counted_;
      bad = unknown_ + refused_;
    }
    return true;
  }

 private:
  void work(const std::string& key) {
    waits_.add_this_thread();
    while (!done_) {
      CountTask task(key);
      const Duration waited = waits_.sum();
      const auto start = std::chrono::steady_clock::now();
      calls_->run(&task);
      const Duration took = std::chrono::steady_clock::now() - start;
      note(task.outcome, took - (waits_.sum() - waited));
      // Leaves processor time to the servers.
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
  }

  void note(const Outcome& outcome, Duration took) {
    if (outcome.failure == Failure::kNone) {
      ++counted_;
    } else {
      const std::lock_guard lock(mutex_);
      ++(outcome.fate == Outcome::Fate::kUnknown ? unknown_ : refused_);
      last_failure_ = outcome.detail;
    }
    std::int64_t longest = longest_;
    while (took.count() > longest &&
           !longest_.compare_exchange_weak(longest, took.count())) {
    }
  }

  Calls* const calls_;
  const std::vector<std::string> keys_;
  const Lateness lateness_;
  ProcessorWaits waits_;  // of all threads
  std::atomic<bool> done_{false};
  std::atomic<int> counted_{0};
  std::atomic<int> unknown_{0};
  std::atomic<int> refused_{0};
  std::atomic<std::int64_t> longest_{0};
  mutable std::mutex mutex_;
  std::string last_failure_;  // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace limitree::redis
