#include "store/cycle_clock.hpp"

#include <time.h>

#include <algorithm>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace limitree {

namespace {

// The rate of the counter is measured over at least this many nanoseconds.  The
// measurement starts again after a pause in which the machine may have slept.
constexpr std::int64_t kMinStretch = 10'000'000;
constexpr std::int64_t kMaxStretch = 1'000'000'000;

// Readings of counter and system belong together if at most this many cycles
// lie between them: the thread was not interrupted.  The error over kMinStretch
// is 2 parts in 100,000.
constexpr std::uint64_t kTogether = 512;

// The rate used is 3 parts in 100,000 (a shift by this much) too low: time that
// falls behind is set forward at the next anchor, but time that ran ahead would
// have to be set back.
constexpr int kCaution = 15;

// If the clock ran ahead anyway (the system's clock is being corrected, or was
// read late), it is slowed down so that it is right at the next anchor, by at
// most an eighth.
constexpr int kMostSlowing = 3;

std::int64_t system_time() {
#ifdef CLOCK_BOOTTIME  // goes on while the machine is suspended, as debts do
  constexpr clockid_t kId = CLOCK_BOOTTIME;
#else
  constexpr clockid_t kId = CLOCK_MONOTONIC;
#endif
  timespec time{};
  clock_gettime(kId, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Whether the counter runs at a constant rate, according to the processor.
// Source: Intel's manual, volume 3, "Invariant TSC"; AMD has the same bit.
bool counter_is_invariant() {
#if defined(__x86_64__)
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d >> 8 & 1) != 0;
#else
  return false;
#endif
}

std::uint64_t read_counter() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return 0;
#endif
}

}  // namespace

CycleClock::CycleClock() : usable_(counter_is_invariant()) {}

CycleClock& CycleClock::of_process() {
  static CycleClock* const clock = new CycleClock;  // outlives static stores
  return *clock;
}

// A thread that finds the anchor too old sets a new one; no thread waits for
// that.  A child forked in the middle of it finds number_ odd forever, and
// keeps asking the system.
Duration CycleClock::ask_system() {
  if (!usable_) return Duration(system_time());
  std::uint32_t number = number_.load(std::memory_order_relaxed);
  if ((number & 1) != 0 || !number_.compare_exchange_strong(
                               number, number + 1, std::memory_order_acquire)) {
    return Duration(system_time());
  }
  const std::uint64_t before = read_counter();
  std::int64_t time = system_time();
  const std::uint64_t cycles = read_counter();
  if (cycles - before < kTogether) time = set_anchor(cycles, time);
  number_.store(number + 2, std::memory_order_release);
  return Duration(time);
}

// Returns the time at the new anchor: `time`, or a later time already shown.
std::int64_t CycleClock::set_anchor(std::uint64_t cycles, std::int64_t time) {
  const std::uint64_t since =
      std::min(cycles - cycles_.load(std::memory_order_relaxed), kWindow);
  const std::int64_t shown =
      time_.load(std::memory_order_relaxed) +
      elapsed(since, rate_.load(std::memory_order_relaxed));
  measure(cycles, time);
  const auto ahead = static_cast<std::uint64_t>(
      std::clamp(shown - time, std::int64_t{0}, std::int64_t{kWindow}));
  const std::uint64_t slowing =
      (measured_rate_ >> kCaution) + (ahead << 32) / kWindow;
  rate_.store(
      measured_rate_ - std::min(slowing, measured_rate_ >> kMostSlowing),
      std::memory_order_release);
  cycles_.store(cycles, std::memory_order_release);
  time_.store(std::max(time, shown), std::memory_order_release);
  return std::max(time, shown);
}

void CycleClock::measure(std::uint64_t cycles, std::int64_t time) {
  const std::int64_t stretch = time - measured_time_;
  if (stretch < kMinStretch) return;
  const std::uint64_t counted = cycles - measured_cycles_;
  const bool plausible = stretch < kMaxStretch && counted > kWindow &&
                         counted >> 33 == 0;  // 8 GHz
  measured_rate_ =
      plausible ? (static_cast<std::uint64_t>(stretch) << 32) / counted : 0;
  measured_cycles_ = cycles;
  measured_time_ = time;
}

}  // namespace limitree
