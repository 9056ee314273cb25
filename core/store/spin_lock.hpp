// A lock for critical sections of a few dozen nanoseconds.

#pragma once

#include <sched.h>

#include <atomic>

namespace limitree {

class SpinLock {
 public:
  bool try_lock() { return !locked_.exchange(true, std::memory_order_acquire); }

  void lock() {
    while (!try_lock()) wait();
  }

  void unlock() { locked_.store(false, std::memory_order_release); }

 private:
  // A running holder is done within the first few rounds; a holder that was
  // pre-empted needs the processor more than this thread.
  void wait() const {
    for (int round = 0; round < 200; ++round) {
      if (!locked_.load(std::memory_order_relaxed)) return;
#if defined(__x86_64__) || defined(__i386__)
      __builtin_ia32_pause();
#elif defined(__aarch64__)
      asm volatile("yield");
#endif
    }
    sched_yield();
  }

  std::atomic<bool> locked_{false};
};

}  // namespace limitree
