#include "store/remote/common/health.hpp"

#include <unistd.h>

#include <algorithm>

namespace limitree::remote {

namespace {

// next_try_ is an even number of nanoseconds while a wait runs, and odd while a
// caller tries: then it is the instant at which that attempt is given up.
constexpr std::int64_t kTrying = 1;

std::int64_t ns_of(Monotonic at) {
  return std::chrono::duration_cast<Duration>(at.time_since_epoch()).count();
}

// A number in [least, most] that differs between processes, objects and
// instants, so that many clients that lost the same server do not all come back
// at once.  (The mixing steps of SplitMix64.)
std::int64_t draw(std::int64_t least, std::int64_t most, std::int64_t now,
                  const void* object) {
  auto x = static_cast<std::uint64_t>(now) ^
           (static_cast<std::uint64_t>(getpid()) << 32U) ^
           reinterpret_cast<std::uintptr_t>(object);
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  x ^= x >> 31U;
  const auto range = static_cast<std::uint64_t>(most - least + 1);
  return least + static_cast<std::int64_t>(x % range);
}

std::int64_t longest_wait_after(std::int32_t failures) {
  // Far more doublings than it takes to get to kLongestWait.
  const std::int32_t doublings =
      std::min(failures - Health::kFailuresToOpen, 20);
  return std::min(Health::kShortWait.count() << doublings,
                  Health::kLongestWait.count());
}

}  // namespace

bool Health::may_try(Monotonic now) {
  if (!open()) return true;
  std::int64_t due = next_try_.load(std::memory_order_relaxed);
  const std::int64_t ns = ns_of(now);
  if (ns < due) return false;
  // A caller that tries has this long to report; then another one may try.
  const std::int64_t given_up = (ns + kLongestWait.count()) | kTrying;
  return next_try_.compare_exchange_strong(due, given_up,
                                           std::memory_order_relaxed);
}

void Health::succeeded() {
  // Read first: this is called for every command, by all threads.
  if (failures_.load(std::memory_order_relaxed) == 0) return;
  failures_.store(0, std::memory_order_relaxed);
  next_try_.store(0, std::memory_order_relaxed);
}

void Health::failed(Failure failure, Monotonic now) {
  const std::int64_t due = next_try_.load(std::memory_order_relaxed);
  const std::int64_t ns = ns_of(now);
  // When a server stops, all commands on their way to it fail.  That is one
  // failure: a report while the wait already runs is nothing new.
  if (open() && (due & kTrying) == 0 && ns < due) return;
  std::int32_t failures = failures_.load(std::memory_order_relaxed);
  if (failures < INT32_MAX) {
    failures = failures_.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  if (failures < kFailuresToOpen) return;
  constexpr std::int64_t kShort = kShortWait.count();
  const std::int64_t wait =
      is_cheap(failure) ? draw(kShort / 2, kShort, ns, this)
                        : draw(0, longest_wait_after(failures), ns, this);
  next_try_.store((ns + wait) & ~kTrying, std::memory_order_relaxed);
}

void Health::broke(Monotonic ready, Monotonic now) {
  std::int64_t before = broke_.load(std::memory_order_relaxed);
  do {
    if (ns_of(ready) <= before) {
      // Nothing new, also if it was the one that was let through.
      const std::int64_t due = next_try_.load(std::memory_order_relaxed);
      if ((due & kTrying) != 0) let_try(now);
      return;
    }
  } while (!broke_.compare_exchange_weak(before, ns_of(now),
                                         std::memory_order_relaxed));
  failed(Failure::kLost, now);
}

void Health::silent(Monotonic now) {
  std::int32_t failures = failures_.load(std::memory_order_relaxed);
  while (failures < kFailuresToOpen - 1 &&
         !failures_.compare_exchange_weak(failures, kFailuresToOpen - 1,
                                          std::memory_order_relaxed)) {
  }
  failed(Failure::kTimeout, now);
}

void Health::let_try(Monotonic now) {
  if (!open()) return;
  next_try_.store(ns_of(now) & ~kTrying, std::memory_order_relaxed);
}

bool Health::open() const {
  return failures_.load(std::memory_order_relaxed) >= kFailuresToOpen;
}

Monotonic Health::next_try() const {
  return Monotonic(std::chrono::duration_cast<Monotonic::duration>(
      Duration(next_try_.load(std::memory_order_relaxed))));
}

}  // namespace limitree::remote
