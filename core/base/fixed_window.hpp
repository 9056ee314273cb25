// fixed_window: a counter that starts at zero in every window.
//
// Windows follow each other without gaps, from the epoch or by a calendar; or
// each window begins with the first unit after the end of the last one.  State:
// the start of the window, and its units.  Where two windows meet, twice the
// count can pass within a moment.
//
// If the clock stepped back, the units of a later window count in the window of
// `now`.

#pragma once

#include <algorithm>
#include <cstdint>

#include "base/limit.hpp"
#include "base/time.hpp"

namespace limitree {

// [start, end)
struct Window {
  Instant start;
  Instant end;
};

// The window that contains `now`; windows are `period` long from the epoch.
constexpr Window epoch_window(Instant now, Duration period) {
  const Instant start = floor_to(now, period);
  return {start, saturating_add(start, period)};
}

class FixedWindow {
 public:
  // The stored state.
  struct State {
    Instant start;
    std::int64_t units = 0;
  };

  // A bucket whose window now is `window`.
  FixedWindow(const State& state, const Window& window)
      : state_(state), end_(window.end) {
    if (state.units == 0 || state.start < window.start) {
      state_ = {window.start, 0};
    } else if (state.start >= window.end) {
      // The clock has stepped back.
      state_.start = window.start;
      ahead_ = true;
    }
  }

  // A bucket whose window begins with its first unit.
  static FixedWindow from_first(const State& state, Duration period,
                                Instant now) {
    const Instant start = ceil_micros(now);
    const Instant end = saturating_add(state.start, period);
    if (state.units == 0 || end <= now) {
      return {{}, {start, saturating_add(start, period)}};
    }
    if (state.start <= start) return {state, {state.start, end}};
    FixedWindow moved({start, state.units},
                      {start, saturating_add(start, period)});
    moved.ahead_ = true;
    return moved;
  }

  std::int64_t used() const { return state_.units; }
  Instant until(std::int64_t most) const {
    return state_.units <= most ? kLongAgo : end_;
  }
  // Never holds more than kMaxUnits: see Charge.
  void add(std::int64_t units) {
    state_.units += std::min(units, kMaxUnits - state_.units);
  }
  bool remove(std::int64_t units) {
    const std::int64_t before = state_.units;
    state_.units = std::max(before - units, std::int64_t{0});
    return state_.units != before;
  }

  const State& state() const { return state_; }
  Instant over() const { return end_; }  // when the state stops counting
  bool is_ahead() const { return ahead_; }

 private:
  State state_;
  Instant end_;
  bool ahead_ = false;
};

}  // namespace limitree
