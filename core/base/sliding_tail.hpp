// sliding_tail: the current fixed window, plus the part of the previous one
// that is still inside a window that ends now.
//
//   used = floor(previous x share still inside) + current
//
// Exact if the units of the previous window came evenly.  If all of them came
// at its end, they stop counting before a period has passed: up to twice the
// count passes within a period, or one less if shares are rounded up.  State:
// when the window began, and two counters.

#pragma once

#include <algorithm>
#include <cstdint>

#include "base/limit.hpp"
#include "base/time.hpp"

namespace limitree {

class SlidingTail {
 public:
  // The stored state.
  struct State {
    Instant start;
    std::int64_t current = 0;
    std::int64_t previous = 0;
  };

  // REQUIRES: `period` is a whole number of microseconds.
  SlidingTail(const State& state, Duration period, bool round_up, Instant now)
      : state_(state), period_(period), round_up_(round_up) {
    base_ = floor_to(now, period);
    inside_ =
        micros(saturating_add(base_, period) - floor_to(now, kMicrosecond));
    const std::int64_t units = state.current + state.previous;
    if (units > 0 && state.start >= saturating_add(base_, period)) {
      // The clock has stepped back: all units count in this window.
      state_ = {base_, std::min(units, kMaxUnits), 0};
      ahead_ = true;
    } else {
      move_to_base();
    }
    scale_previous();
  }

  std::int64_t used() const { return weight_ + state_.current; }

  Instant until(std::int64_t most) const {
    if (used() <= most) return kLongAgo;
    if (state_.current <= most) {
      return left(period_, inside_for(state_.previous, most - state_.current));
    }
    // The units of the current window have to leave, too.
    return left(2 * period_, inside_for(state_.current, most));
  }

  void add(std::int64_t units) { state_.current += units; }
  bool remove(std::int64_t units) {
    const std::int64_t newest = std::min(units, state_.current);
    const std::int64_t older = std::min(units - newest, state_.previous);
    state_.current -= newest;
    state_.previous -= older;
    scale_previous();
    return newest + older > 0;
  }

  const State& state() const { return state_; }
  bool is_ahead() const { return ahead_; }

  // When the state stops counting.
  Instant over() const {
    return saturating_add(state_.start,
                          state_.current > 0 ? 2 * period_ : period_);
  }

 private:
  static std::int64_t micros(Duration time) { return time / kMicrosecond; }

  // A window that began within this one counts as this one, whatever its period
  // was; the same holds for the previous window.
  void move_to_base() {
    const bool empty = state_.current == 0 && state_.previous == 0;
    const Duration age =
        empty ? Duration::max() : saturating_sub(base_, state_.start);
    if (age > period_) {
      state_ = {base_, 0, 0};
    } else if (age > Duration::zero()) {
      state_ = {base_, 0, state_.current};
    } else {
      state_.start = base_;
    }
  }

  // Stored, because a division takes as long as all the rest.
  void scale_previous() {
    weight_ = state_.previous == 0 ? 0 : weight(state_.previous);
  }

  // When `inside` microseconds remain until `window` has passed since base_.
  Instant left(Duration window, std::int64_t inside) const {
    return saturating_add(base_, window - kMicrosecond * inside);
  }

  // The part of `units` that counts while inside_ microseconds of their window
  // do.
  std::int64_t weight(std::int64_t units) const {
    const std::int64_t whole = micros(period_);
    return round_up_ ? mul_div_up(units, inside_, whole)
                     : mul_div(units, inside_, whole);
  }

  // The most microseconds at which `units` weigh no more than `most`.
  std::int64_t inside_for(std::int64_t units, std::int64_t most) const {
    const std::int64_t whole = micros(period_);
    if (units <= most) return whole;
    return round_up_ ? mul_div(most, whole, units)
                     : mul_div_up(most + 1, whole, units) - 1;
  }

  State state_;
  Duration period_;
  bool round_up_;
  bool ahead_ = false;
  Instant base_;         // start of the window that contains `now`
  std::int64_t inside_;  // microseconds of the previous window that count
  std::int64_t weight_;  // the units used in them
};

}  // namespace limitree
