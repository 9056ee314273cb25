// GCRA with an overrun: the same arithmetic, but a debt may exceed the burst
// offset by what the overrun adds.

#ifndef LIMITREE_BASE_OVERDRAFT_HPP
#define LIMITREE_BASE_OVERDRAFT_HPP

#include <algorithm>
#include <cstdint>

#include "base/time.hpp"

namespace limitree {

class Overdraft {
 public:
  // No bucket owes more than `highest` tokens.
  Overdraft(Instant tat, Duration emission_interval, std::int64_t highest,
            Instant now)
      : interval_(emission_interval), now_(now) {
    const Duration most = emission_interval * highest;
    const Duration debt = saturating_sub(tat, now);
    debt_ = std::clamp(debt, Duration::zero(), most);
    ahead_ = debt > most;
  }

  // A token that is only partly back still counts as used.
  std::int64_t used() const {
    return (debt_ + interval_ - Duration(1)) / interval_;
  }
  Instant until(std::int64_t most) const {
    if (debt_ <= interval_ * most) return kLongAgo;
    return saturating_add(now_, debt_ - interval_ * most);
  }

  // Charges up to the largest debt allowed, down to a part of a token.
  bool charge(std::int64_t units, std::int64_t ceiling) {
    const Duration before = debt_;
    debt_ =
        std::max(debt_, std::min(debt_ + interval_ * std::min(units, ceiling),
                                 interval_ * ceiling));
    return debt_ != before;
  }
  bool remove(std::int64_t units) {
    const Duration before = debt_;
    // Never more than was charged, so that the product stays in range.
    const std::int64_t most =
        std::min<std::int64_t>(units, before / interval_ + 1);
    debt_ = std::max(before - interval_ * most, Duration::zero());
    return debt_ != before;
  }

  Instant state() const { return until(0); }
  bool is_ahead() const { return ahead_; }

 private:
  Duration interval_;
  Instant now_;
  Duration debt_;
  bool ahead_;
};

}  // namespace limitree

#endif  // LIMITREE_BASE_OVERDRAFT_HPP
