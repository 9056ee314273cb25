// Counters of decisions, in total and for each limit.
//
// A counter that every thread increments would be the most contended word of
// the library.  So each thread counts in a Stripe of its own, if one is free,
// and reading adds the stripes up.  A thread holds its stripe for the whole
// decision, which also lets reload() know when the last reader of an old tree
// has gone.

#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/counts.hpp"
#include "base/decision.hpp"
#include "base/limit.hpp"
#include "base/plan.hpp"
#include "limiter/hit_metrics.hpp"
#include "store/spin_lock.hpp"

namespace limitree {

// The decisions of one limit, summed over all callers.
struct Tally {
  std::int64_t allowed = 0;
  std::int64_t limited = 0;
  std::int64_t shadow_limited = 0;
  std::int64_t near_limit = 0;  // allowed with most of the capacity used
  std::int64_t soft = 0;        // of the allowed: above the capacity

  Tally& operator+=(const Tally& more) { return add_counts(more, this); }
};

// A limit by its place in the tree, known as long as the limiter lives.
// Reloads keep its counters and the address of its name.
class Policy {
 public:
  explicit Policy(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  void add(const Tally& tally) { tally_.add(tally); }
  Tally tally() const { return tally_.get(); }

 private:
  const std::string name_;
  AtomicCounts<Tally> tally_;
};

// Every policy that a limiter has ever loaded.  Not thread-safe.
class Policies {
 public:
  // Returns the policy of that name, made if it is new.
  Policy* intern(const std::string& name);

  // About what intern() would take in memory, for good.
  std::size_t cost_of(const std::string& name) const;

  const std::deque<Policy>& all() const { return policies_; }

 private:
  std::deque<Policy> policies_;  // never moves its elements
  std::unordered_map<std::string_view, Policy*> by_name_;
};

// Requests, regardless of the limits they met.
struct Totals {
  // By Source, and by whether the request was limited.
  std::array<std::array<std::int64_t, 2>, kSourceCount> decided{};
  std::int64_t shadow_limited = 0;
  std::int64_t soft = 0;  // allowed only thanks to an overrun
  std::int64_t errors = 0;
  // Holds, each of one limit; of requests through this limiter.
  std::int64_t held = 0;
  std::int64_t settled = 0;     // cancelled ones too
  std::int64_t ended = 0;       // by themselves
  std::int64_t holds_full = 0;  // requests that kMaxHolds denied

  std::int64_t allowed() const { return sum(0); }
  std::int64_t limited() const { return sum(1); }
  std::int64_t from(Source source) const {
    const auto& both = decided[static_cast<std::size_t>(source)];
    return both[0] + both[1];
  }

  Totals& operator+=(const Totals& more) { return add_counts(more, this); }

 private:
  std::int64_t sum(std::size_t limited) const {
    std::int64_t sum = 0;
    for (const auto& both : decided) sum += both[limited];
    return sum;
  }
};

// The counters of one thread.  The lock guards everything else.
//
// Threads that decide without pause may hold it almost all the time.  So a
// thread that reads all stripes claims one after the other, and deciding
// threads stay off a claimed stripe until it was read.
class alignas(64) Stripe {
 public:
  // For deciding threads.
  bool try_lock() {
    return claims_.load(std::memory_order_relaxed) == 0 && lock_.try_lock();
  }
  void unlock() { lock_.unlock(); }

  // For all other threads, as a BasicLockable: std::lock_guard claims the
  // stripe.
  void lock() {
    claims_.fetch_add(1, std::memory_order_relaxed);
    lock_.lock();
    claims_.fetch_sub(1, std::memory_order_relaxed);
  }

  // The used share from which an allowed request counts as near its limit.
  void set_near_limit(Share share) { near_limit_ = share; }

  void count(const Decision& decision);
  // Counts what became of holds.
  void count_holds(const Plan& plan, const Decision& decision);
  void count_error() { ++totals_.errors; }

  // Adds to the counters of the policy, through a small write-back cache.
  void count(Policy* policy, const Level& level, bool allowed);

  const Totals& totals() const { return totals_; }
  HitCounts& hits() { return hits_; }
  // Writes the caches to the policies and the metrics.
  void flush() {
    cache_.flush();
    hits_.flush();
  }

 private:
  Share near_limit_{8, 10};
  SpinLock lock_;
  std::atomic<std::int32_t> claims_{0};  // number of threads waiting in lock()
  Totals totals_;
  TallyCache<Policy, Tally, 32> cache_;
  HitCounts hits_;
};

class Stripes {
 public:
  explicit Stripes(Share near_limit = {8, 10});

  // Locks and returns a free stripe: the usual stripe of the calling thread,
  // unless another thread is using it.
  Stripe& acquire() {
    // A number that differs between threads and costs nothing to get.
    const auto id = std::bit_cast<std::uintptr_t>(pthread_self());
    const auto usual =
        static_cast<std::uint32_t>((id * 0x9e3779b97f4a7c15) >> 32);
    Stripe& stripe = stripes_.get()[usual & (count_ - 1)];
    return stripe.try_lock() ? stripe : acquire_another(usual);
  }

  // Writes the caches of all.
  void flush() {
    for (Stripe& stripe : *this) {
      const std::lock_guard hold(stripe);
      stripe.flush();
    }
  }

  Stripe* begin() { return stripes_.get(); }
  Stripe* end() { return stripes_.get() + count_; }

 private:
  Stripe& acquire_another(std::uint32_t usual);

  const std::uint32_t count_;  // a power of two
  std::unique_ptr<Stripe[]> stripes_;
};

inline void Stripe::count(const Decision& decision) {
  const auto source = static_cast<std::size_t>(decision.source);
  ++totals_.decided[source][decision.limited ? 1 : 0];
  if (decision.shadowed && !decision.limited) ++totals_.shadow_limited;
  if (decision.soft) [[unlikely]]
    ++totals_.soft;
}

inline void Stripe::count(Policy* policy, const Level& level, bool allowed) {
  Tally& tally = cache_.at(policy);
  const Verdict& verdict = level.verdict;
  if (verdict.limited) {
    ++(counts(level.mode) ? tally.limited : tally.shadow_limited);
  } else if (allowed) {
    ++tally.allowed;
    if (verdict.soft) [[unlikely]]
      ++tally.soft;
    const std::int64_t capacity = level.limit->rate.capacity;
    if (reaches(capacity - verdict.remaining, capacity, near_limit_)) {
      ++tally.near_limit;
    }
  }
}

}  // namespace limitree
