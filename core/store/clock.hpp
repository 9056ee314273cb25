// The clock of a store: the clock of the system, or a clock of the caller.

#pragma once

#include <chrono>
#include <cstdint>

#include "base/time.hpp"
#include "store/cycle_clock.hpp"

namespace limitree {

class Clock {
 public:
  // Returns nanoseconds since 1970-01-01 UTC; may be called from any thread.
  using Function = std::int64_t (*)(void* user_data);

  // The system's clock: set by the wall clock once, here, and then driven by
  // the steady clock, so that a stepped wall clock neither empties nor fills
  // buckets.
  Clock()
      : offset_(std::chrono::system_clock::now().time_since_epoch() -
                system_->now()) {}

  // The system's clock, with an offset() of another.
  explicit Clock(Duration offset) : offset_(offset) {}

  // REQUIRES: function is not null.
  Clock(Function function, void* user_data)
      : function_(function), user_data_(user_data) {}

  // The time since 1970 when the steady clock began.
  Duration offset() const { return offset_; }

  // Whether this is a clock of the caller.  Stores with their own clock obey
  // it.
  bool is_callers() const { return function_ != nullptr; }

  // Inlined, so that a store can hash a key while the counter is read.
  [[gnu::always_inline]] Instant now() const {
    return Instant(function_ == nullptr ? system_->now() + offset_
                                        : Duration(function_(user_data_)));
  }

 private:
  CycleClock* system_ = &CycleClock::of_process();
  Function function_ = nullptr;
  void* user_data_ = nullptr;
  Duration offset_{};
};

}  // namespace limitree
