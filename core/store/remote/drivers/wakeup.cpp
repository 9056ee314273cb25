#include "store/remote/drivers/wakeup.hpp"

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#endif

namespace limitree::remote {

#if defined(__linux__)

namespace {

// steady_clock is CLOCK_MONOTONIC, which FUTEX_WAIT_BITSET measures by.
timespec to_timespec(Monotonic at) {
  const std::int64_t ns = at.time_since_epoch().count();
  timespec time{};
  time.tv_sec = static_cast<time_t>(ns / 1'000'000'000);
  time.tv_nsec = static_cast<long>(ns % 1'000'000'000);
  return time;
}

}  // namespace

Wakeup::Word Wakeup::wait(Word known, Monotonic deadline) {
  constexpr auto kAsleep = static_cast<std::uint32_t>(Word::kAsleep);
  const auto old = static_cast<std::uint32_t>(known);
  std::uint32_t word = old;
  if (!word_.compare_exchange_strong(word, kAsleep,
                                     std::memory_order_acquire)) {
    return static_cast<Word>(word);
  }
  const timespec until = to_timespec(deadline);
  do {
    syscall(SYS_futex, &word_, FUTEX_WAIT_BITSET_PRIVATE, kAsleep, &until,
            nullptr, FUTEX_BITSET_MATCH_ANY);
    word = word_.load(std::memory_order_acquire);
    if (word != kAsleep) return static_cast<Word>(word);
  } while (std::chrono::steady_clock::now() < deadline);
  // From here on nobody need wake us.
  if (word_.compare_exchange_strong(word, old, std::memory_order_acquire)) {
    return known;
  }
  return static_cast<Word>(word);
}

Wakeup::Sleeper Wakeup::set(Word word) {
  const std::uint32_t before = word_.exchange(static_cast<std::uint32_t>(word),
                                              std::memory_order_release);
  const bool asleep = before == static_cast<std::uint32_t>(Word::kAsleep);
  return Sleeper(asleep ? static_cast<void*>(&word_) : nullptr);
}

// The word may be gone: then nobody sleeps at the address, or another thread
// does, which checks its own word before it goes back to sleep.
void Wakeup::Sleeper::wake() const {
  if (address_ == nullptr) return;
  syscall(SYS_futex, address_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

#else

Wakeup::Word Wakeup::wait(Word known, Monotonic deadline) {
  std::unique_lock lock(mutex_);
  const auto old = static_cast<std::uint32_t>(known);
  changed_.wait_until(lock, deadline, [&] { return word_.load() != old; });
  return static_cast<Word>(word_.load());
}

// Under the lock, which the sleeper has to take before it can go.
Wakeup::Sleeper Wakeup::set(Word word) {
  const std::lock_guard lock(mutex_);
  word_ = static_cast<std::uint32_t>(word);
  changed_.notify_one();
  return {};
}

void Wakeup::Sleeper::wake() const {}

#endif

}  // namespace limitree::remote
