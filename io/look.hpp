// Looking for an event before sleeping.

#pragma once

#include <chrono>
#include <cstdint>

#include "base/time.hpp"
#include "io/timer.hpp"

namespace limitree {

// Whether who waits looks before it sleeps: if that pays, always or never.
enum class LowLatency : std::uint8_t { kAuto, kOn, kOff };

// Whether, and for how long, a caller looks for its answer before it sleeps, or
// a service for the next request.
//
// On an idle processor, sleeping and waking up takes longer than a nearby
// server takes to answer, so looking costs no more and finds the answer sooner.
// If other threads want the processor, a caller that looks uses up its share of
// it, and then has to wait for milliseconds.  That shows as a gap between two
// looks; after a gap, as after answers that took too long, nobody looks for a
// while.
//
// Knows no clock and no socket.  Not for several threads at once.
class Look {
 public:
  static constexpr Duration kLongest = std::chrono::microseconds(50);
  // Interrupts take up to 100 us where the machine is virtual; another process
  // takes the processor for a millisecond at least.
  static constexpr Duration kGap = std::chrono::microseconds(500);
  static constexpr Duration kFirstPause = std::chrono::milliseconds(10);
  static constexpr Duration kLongestPause = std::chrono::seconds(1);

  explicit Look(LowLatency mode, Duration longest = kLongest)
      : mode_(mode), longest_(longest) {}

  // Whether to look at all.  If so, looks follow; after each of them one of the
  // other functions is called with the time.
  bool begin(Monotonic now);
  bool found_nothing(Monotonic now);  // whether to look again
  void found(Monotonic now);

 private:
  bool gap(Monotonic now) const { return now - last_ > kGap; }
  void pause(Monotonic now);

  const LowLatency mode_;
  const Duration longest_;  // that one answer is looked for
  Monotonic began_{};
  Monotonic last_{};
  std::int32_t in_vain_ = 0;  // answers that came too late, less those in time
  Duration well_{};           // spent on looks that found one, since the pause
  Duration pause_{};          // how long the last one was
  Monotonic resume_{};        // when it ends
};

}  // namespace limitree
