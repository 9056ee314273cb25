// Measures how late a busy machine runs threads, so that tests can subtract it.

#ifndef LIMITREE_TESTS_CORE_STORE_REDIS_LATENESS_HPP
#define LIMITREE_TESTS_CORE_STORE_REDIS_LATENESS_HPP

#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <thread>

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

// How long this thread has waited for a processor since it began.  Zero on
// systems that do not measure it.
inline Duration waited_for_processor() {
  std::ifstream file("/proc/thread-self/schedstat");
  std::int64_t ran = 0;
  std::int64_t waited = 0;
  file >> ran >> waited;
  return Duration(file ? waited : 0);
}

}  // namespace limitree::redis

#endif  // LIMITREE_TESTS_CORE_STORE_REDIS_LATENESS_HPP
