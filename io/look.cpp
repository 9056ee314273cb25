#include "io/look.hpp"

#include <algorithm>

namespace limitree {

namespace {

// Looking pays while two of three answers come in time: one that does not
// weighs as much as two that do.  The first answers come late wherever the
// server's processor slept; only a caller that goes on looking keeps it awake.
constexpr std::int32_t kLate = 2;
constexpr std::int32_t kTooLate = 40;

// Beside busy processes looks go well for some milliseconds at a time.
constexpr std::int32_t kWell = 10;

}  // namespace

bool Look::begin(Monotonic now) {
  if (mode_ == LowLatency::kOff || now < resume_) return false;
  began_ = now;
  last_ = now;
  return true;
}

bool Look::found_nothing(Monotonic now) {
  if (mode_ == LowLatency::kOn) return now - began_ < longest_;
  if (gap(now)) {
    pause(now);
    return false;
  }
  last_ = now;
  if (now - began_ < longest_) return true;
  in_vain_ += kLate;
  if (in_vain_ >= kTooLate) pause(now);
  return false;
}

void Look::found(Monotonic now) {
  if (mode_ == LowLatency::kOn) return;
  if (gap(now)) return pause(now);
  in_vain_ = std::max(in_vain_ - 1, 0);
  well_ += now - began_;
}

// Twice as long as the last one, unless looking went well for far longer.
void Look::pause(Monotonic now) {
  pause_ = well_ > kWell * pause_ || pause_ == Duration::zero()
               ? kFirstPause
               : std::min(2 * pause_, kLongestPause);
  resume_ = now + pause_;
  well_ = Duration::zero();
  in_vain_ = 0;
}

}  // namespace limitree
