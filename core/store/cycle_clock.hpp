// The system's steady time, read from the processor's cycle counter.
//
// Asking the system costs as much as all the rest of a decision.  So the
// system is asked every few tenths of a millisecond at most, and the counter
// tells how far it has gone since then: the error is bounded by what can go
// wrong in that window, whatever suspension, migration to another machine or a
// counter of another processor does.

#ifndef LIMITREE_STORE_CYCLE_CLOCK_HPP
#define LIMITREE_STORE_CYCLE_CLOCK_HPP

#include <atomic>
#include <cstdint>

#include "base/time.hpp"

namespace limitree {

class CycleClock {
 public:
  // The one of this process.
  static CycleClock& of_process();

  // Time since the machine was started, the time it was suspended included.
  // Goes back by some hundred nanoseconds at most on one thread; two threads
  // may see each other's time up to a few microseconds off, for the counter
  // does not wait for what was read before it.  May be called from any thread
  // and in the child of a fork().
  Duration now() {
#if defined(__x86_64__)
    // A counter that lags behind the anchor's gives a huge difference.  The
    // anchor's words are read between two looks at its number, which is odd
    // while it is being written: a seqlock.
    const std::uint32_t number = number_.load(std::memory_order_acquire);
    const std::uint64_t cycles =
        __builtin_ia32_rdtsc() - cycles_.load(std::memory_order_acquire);
    const std::int64_t time = time_.load(std::memory_order_acquire);
    const std::uint64_t rate = rate_.load(std::memory_order_acquire);
    if (cycles < kWindow && rate != 0 && (number & 1) == 0 &&
        number == number_.load(std::memory_order_relaxed)) [[likely]] {
      return Duration(time + elapsed(cycles, rate));
    }
#endif
    return ask_system();
  }

 private:
  // About 0.4 ms.
  static constexpr std::uint64_t kWindow = std::uint64_t{1} << 20;

  CycleClock();

  // Nanoseconds that `cycles` take, at `rate` nanoseconds per 2^32 of them.
  static std::int64_t elapsed(std::uint64_t cycles, std::uint64_t rate) {
    return static_cast<std::int64_t>(cycles * rate >> 32);
  }

  Duration ask_system();
  std::int64_t set_anchor(std::uint64_t cycles, std::int64_t time);
  void measure(std::uint64_t cycles, std::int64_t time);

  const bool usable_;
  std::atomic<std::uint32_t> number_{0};
  std::atomic<std::uint64_t> cycles_{0};  // the counter at the anchor
  std::atomic<std::int64_t> time_{0};     // nanoseconds at the anchor
  std::atomic<std::uint64_t> rate_{0};    // see elapsed(); 0: not known yet

  // What the last comparison of counter and system over a long stretch gave,
  // and where the next one starts.  They belong to whoever made number_ odd.
  std::uint64_t measured_rate_ = 0;
  std::uint64_t measured_cycles_ = 0;
  std::int64_t measured_time_ = 0;
};

}  // namespace limitree

#endif  // LIMITREE_STORE_CYCLE_CLOCK_HPP
