// Whether, and for how long, a caller looks for its answer before it sleeps.
//
// To sleep and to be woken takes a processor that idles longer than the answer
// takes from a server nearby, so looking costs no more and tells sooner.  Where
// others want the processor, who looks uses up its share of it and is put off
// for milliseconds.  That shows as a gap between two looks, after which, as
// after answers that took too long, nobody looks for a while.
//
// Knows no clock and no socket.  Not for several threads at once.

#ifndef LIMITREE_STORE_REDIS_DRIVE_LOOK_HPP
#define LIMITREE_STORE_REDIS_DRIVE_LOOK_HPP

#include <chrono>
#include <cstdint>

#include "store/redis/facts/health.hpp"
#include "store/redis/facts/settings.hpp"

namespace limitree::redis {

class Look {
 public:
  static constexpr Duration kLongest = std::chrono::microseconds(50);
  // Interrupts take up to 100 us where the machine is virtual; another process
  // takes the processor for a millisecond at least.
  static constexpr Duration kGap = std::chrono::microseconds(500);
  static constexpr Duration kFirstPause = std::chrono::milliseconds(10);
  static constexpr Duration kLongestPause = std::chrono::seconds(1);

  explicit Look(LowLatency mode) : mode_(mode) {}

  // Whether to look at all.  Then follow looks, after each of which one of the
  // others is called with the time.
  bool begin(Monotonic now);
  bool found_nothing(Monotonic now);  // whether to look again
  void found(Monotonic now);

 private:
  bool gap(Monotonic now) const { return now - last_ > kGap; }
  void pause(Monotonic now);

  const LowLatency mode_;
  Monotonic began_{};
  Monotonic last_{};
  std::int32_t in_vain_ = 0;  // answers that came too late, less those in time
  Duration well_{};           // spent on looks that found one, since the pause
  Duration pause_{};          // how long the last one was
  Monotonic resume_{};        // when it ends
};

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_DRIVE_LOOK_HPP
