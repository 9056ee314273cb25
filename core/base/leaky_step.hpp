// leaky_bucket with `drain: step`: a level that drops by one at every tick.
//
// Ticks are the multiples of period / count since the epoch, in whole
// microseconds.  So a unit may leave a moment after it came, or stay for a
// whole tick. (If the level dropped one tick after each charge, this would be
// exactly GCRA.) State: the tick at which the bucket is empty.

#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.hpp"

namespace limitree {

class LeakyStep {
 public:
  // A bucket without state has any past tick as `empty_at`.  No bucket holds
  // more than `highest`.
  LeakyStep(Instant empty_at, Duration tick, std::int64_t highest, Instant now)
      : tick_(tick), last_(floor_to(now, tick)) {
    if (empty_at <= last_) return;
    const std::int64_t left = saturating_sub(empty_at, last_).count();
    const std::int64_t units = (left - 1) / tick.count() + 1;
    level_ = std::min(units, highest);
    ahead_ = units > highest;
  }

  std::int64_t used() const { return level_; }
  Instant until(std::int64_t most) const {
    if (level_ <= most) return kLongAgo;
    return saturating_add(last_, tick_ * (level_ - most));
  }
  void add(std::int64_t units) { level_ += units; }
  bool remove(std::int64_t units) {
    const std::int64_t before = level_;
    level_ = std::max(before - units, std::int64_t{0});
    return level_ != before;
  }

  Instant state() const { return until(0); }
  bool is_ahead() const { return ahead_; }

 private:
  Duration tick_;
  Instant last_;  // tick
  std::int64_t level_ = 0;
  bool ahead_ = false;
};

}  // namespace limitree
