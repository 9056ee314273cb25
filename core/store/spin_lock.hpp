// A lock for critical sections of a few dozen nanoseconds.

#pragma once

#include <sched.h>

#include <atomic>

namespace limitree {

// How long a thread waits before it looks at a lock again.  Each look takes the
// cache line from the holder, who writes to it and needs it back.  So the times
// grow fast.
class Backoff {
 public:
  // Lets the time pass.  Returns false if a running holder would have been done
  // long ago.
  bool pause() {
    for (int i = 0; i < pauses_; ++i) {
#if defined(__x86_64__) || defined(__i386__)
      __builtin_ia32_pause();
#elif defined(__aarch64__)
      asm volatile("yield");
#endif
    }
    if (pauses_ == kMostPauses) return false;
    pauses_ *= 4;
    return true;
  }

 private:
  static constexpr int kMostPauses = 128;

  int pauses_ = 2;
};

class SpinLock {
 public:
  bool try_lock() { return !locked_.exchange(true, std::memory_order_acquire); }

  void lock() {
    if (!try_lock()) [[unlikely]]
      wait();
  }

  void unlock() { locked_.store(false, std::memory_order_release); }

 private:
  [[gnu::noinline]] void wait() {
    Backoff backoff;
    do {
      while (backoff.pause()) {
        if (!locked_.load(std::memory_order_relaxed)) break;
      }
      // A holder that was pre-empted needs the processor more than this thread.
      if (locked_.load(std::memory_order_relaxed)) {
        sched_yield();
        backoff = {};
      }
    } while (!try_lock());
  }

  std::atomic<bool> locked_{false};
};

}  // namespace limitree
