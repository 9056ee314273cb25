// The system's steady time, read from the processor's cycle counter.
//
// Asking the system costs as much as the rest of a decision.  So the system is
// asked at most every few tenths of a millisecond, and the counter measures the
// time since then.  That bounds the error to what can go wrong in such a
// window, even after suspension, migration to another machine, or a switch to
// the counter of another processor.

#pragma once

#include <atomic>
#include <cstdint>

#include "base/time.hpp"

namespace limitree {

class CycleClock {
 public:
  // The clock of this process.
  static CycleClock& of_process();

  // Time since the machine was started, including time suspended.  On one
  // thread it goes back by some hundred nanoseconds at most.  Two threads may
  // see each other's time off by a few microseconds, because the counter does
  // not wait for earlier reads.  May be called from any thread, and in the
  // child of a fork().
  [[gnu::always_inline]] Duration now() {
#if defined(__x86_64__)
    // A counter behind that of the anchor gives a huge difference.  The words
    // of the anchor are read between two reads of its number, which is odd
    // while they are written: a seqlock.
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

  // The nanoseconds of `cycles`, at `rate` nanoseconds per 2^32 cycles.
  static std::int64_t elapsed(std::uint64_t cycles, std::uint64_t rate) {
    return static_cast<std::int64_t>(cycles * rate >> 32);
  }

  Duration ask_system();
  std::int64_t set_anchor(std::uint64_t cycles, std::int64_t time);
  void measure(std::uint64_t cycles, std::int64_t time);

  const bool usable_;
  std::atomic<std::uint32_t> number_{0};
  std::atomic<std::uint64_t> cycles_{0};  // counter at the anchor
  std::atomic<std::int64_t> time_{0};     // nanoseconds at the anchor
  std::atomic<std::uint64_t> rate_{0};    // see elapsed(); 0: not known yet

  // The last rate measured over a long stretch, and the start of the next
  // stretch.  They belong to the thread that made number_ odd.
  std::uint64_t measured_rate_ = 0;
  std::uint64_t measured_cycles_ = 0;
  std::int64_t measured_time_ = 0;
};

}  // namespace limitree
