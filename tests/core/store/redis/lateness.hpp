// What a busy machine adds to every deadline, so that tests can leave it out.

#ifndef LIMITREE_TESTS_CORE_STORE_REDIS_LATENESS_HPP
#define LIMITREE_TESTS_CORE_STORE_REDIS_LATENESS_HPP

#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <thread>

#include "base/time.hpp"

namespace limitree::redis {

// How late a thread that sleeps was woken so far, at worst.
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

// For how long this thread could run and had no processor, since it began; zero
// on systems that do not count it.
inline Duration waited_for_processor() {
  std::ifstream file("/proc/thread-self/schedstat");
  std::int64_t ran = 0;
  std::int64_t waited = 0;
  file >> ran >> waited;
  return Duration(file ? waited : 0);
}

}  // namespace limitree::redis

#endif  // LIMITREE_TESTS_CORE_STORE_REDIS_LATENESS_HPP
