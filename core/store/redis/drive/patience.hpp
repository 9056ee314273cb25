// How much longer a caller that blocks waits: its deadline, which measures the
// server and not the caller.
//
// Who waits looks at the clock with every beat at least.  Where far more time
// has passed between two looks, the thread did not run (no processor was free,
// or the process was stopped), and the deadline is put off by that.
//
// Knows no clock.

#ifndef LIMITREE_STORE_REDIS_DRIVE_PATIENCE_HPP
#define LIMITREE_STORE_REDIS_DRIVE_PATIENCE_HPP

#include <algorithm>
#include <chrono>

#include "store/redis/facts/health.hpp"

namespace limitree::redis {

class Patience {
 public:
  static constexpr Duration kBeat = std::chrono::milliseconds(10);

  // How much of the time between two looks the thread did not run: what goes
  // beyond a beat, unless it is no more than a timer may be late.
  static Duration lost(Duration between) {
    return between > 2 * kBeat ? between - kBeat : Duration::zero();
  }

  Patience(Monotonic now, Monotonic deadline)
      : looked_(now), deadline_(deadline) {}

  // Tells that the thread runs at `now`; returns that.
  Monotonic look(Monotonic now) {
    if (now <= looked_) return looked_;
    deadline_ += lost(now - looked_);
    return looked_ = now;
  }

  // The same after a wait that was meant to be so long, and so counts.
  void look_after(Duration wait, Monotonic now) {
    looked_ += wait;
    look(now);
  }

  // As of the last look.
  Monotonic looked() const { return looked_; }
  bool over() const { return looked_ >= deadline_; }
  Duration left() const { return deadline_ - looked_; }
  Monotonic wait_until() const { return std::min(deadline_, looked_ + kBeat); }

  // Half of the time that is left, for one of several servers; then
  // look_after() it was used.
  Patience half() const { return {looked_, looked_ + left() / 2}; }
  void look_after(const Patience& part) {
    deadline_ += part.deadline_ - (looked_ + left() / 2);
    looked_ = part.looked_;
  }

 private:
  Monotonic looked_;
  Monotonic deadline_;
};

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_DRIVE_PATIENCE_HPP
