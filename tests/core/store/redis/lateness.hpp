// Measures how late a busy machine runs threads, so that tests can subtract it.

#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "base/time.hpp"

namespace limitree::redis {

// How late a sleeping thread has been woken so far, at worst.
class Lateness {
 public:
  Lateness() = default;
  ~Lateness() {
    done_ = true;
    thread_.join();
  }
  Lateness(const Lateness&) = delete;
  Lateness& operator=(const Lateness&) = delete;

  Duration worst() const { return worst_; }

 private:
  void measure() {
    using Clock = std::chrono::steady_clock;
    while (!done_) {
      const auto due = Clock::now() + std::chrono::milliseconds(1);
      std::this_thread::sleep_until(due);
      const Duration late = Clock::now() - due;
      if (late > worst_.load()) worst_ = late;
    }
  }

  std::atomic<Duration> worst_{Duration::zero()};
  std::atomic<bool> done_{false};
  std::thread thread_{[this] { measure(); }};
};

// The time that a thread has waited for a processor since it began, from its
// schedstat file.  Zero on systems that have none, and after its end.
inline Duration waited_for_processor(int schedstat) {
  char text[64] = {};  // "<ran> <waited> <times>", in nanoseconds
  if (pread(schedstat, text, sizeof text - 1, 0) <= 0) return {};
  return Duration(std::atoll(std::strchr(text, ' ')));
}

inline int open_schedstat() {
  return open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
}

// The same of this thread.
inline Duration waited_for_processor() {
  const int file = open_schedstat();
  const Duration waited = waited_for_processor(file);
  close(file);
  return waited;
}

// The time since it was made, without that in which this thread, which made it,
// wanted a processor and had none.
class Stopwatch {
 public:
  Duration time() const {
    const Duration passed = std::chrono::steady_clock::now() - started_;
    return passed - (waited_for_processor() - waited_);
  }

 private:
  const Duration waited_ = waited_for_processor();
  const std::chrono::steady_clock::time_point started_ =
      std::chrono::steady_clock::now();
};

// What several threads have waited for a processor, summed up.
class ProcessorWaits {
 public:
  ProcessorWaits() = default;
  ~ProcessorWaits() {
    for (const Entry& entry : entries_) close(entry.file);
  }
  ProcessorWaits(const ProcessorWaits&) = delete;
  ProcessorWaits& operator=(const ProcessorWaits&) = delete;

  void add_this_thread() {
    const std::lock_guard lock(mutex_);
    entries_.push_back({open_schedstat(), Duration::zero()});
  }

  Duration sum() {
    const std::lock_guard lock(mutex_);
    Duration sum = Duration::zero();
    for (Entry& entry : entries_) {
      entry.waited = std::max(entry.waited, waited_for_processor(entry.file));
      sum += entry.waited;
    }
    return sum;
  }

 private:
  struct Entry {
    int file;
    Duration waited;  // kept after the end of the thread
  };

  std::mutex mutex_;
  std::vector<Entry> entries_;  // guarded by mutex_
};

}  // namespace limitree::redis
