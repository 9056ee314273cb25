// Spreads the times at which denied callers come back: a thousand that are
// denied together would otherwise all return in one instant.

#pragma once

#include <atomic>
#include <cstdint>

#include "base/decision.hpp"
#include "base/time.hpp"
#include "store/entropy.hpp"

namespace limitree {

// Each denial gets the next multiple of the golden ratio, modulo 1, of the
// spread: so any number of successive denials lie evenly within it, which
// random numbers would not.  Thread-safe.
class RetrySpread {
 public:
  explicit RetrySpread(Duration most)
      : most_(most), at_(most > Duration::zero() ? random_word() : 0) {}

  // Adds to a finite retry_after.  What next_after says stays exact.
  void apply(Decision* decision) {
    if (most_ == Duration::zero()) [[likely]]
      return;
    if (!decision->limited || decision->retry_after == kNever) return;
    constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
    const std::uint64_t at =
        at_.fetch_add(kGoldenRatio, std::memory_order_relaxed);
    __extension__ using Wide = unsigned __int128;
    const auto most = static_cast<std::uint64_t>(most_.count());
    const auto more = static_cast<std::int64_t>((Wide{at} * most) >> 64);
    decision->retry_after =
        saturating_add(Instant(decision->retry_after), Duration(more))
            .time_since_epoch();
  }

  // So that the children of a process do not all begin where it was.
  void forked() {
    if (most_ > Duration::zero()) at_ = random_word();
  }

 private:
  const Duration most_;
  std::atomic<std::uint64_t> at_;
};

}  // namespace limitree
