// How many frames that bring nothing a client may send.

#ifndef LIMITREE_SERVER_H2_ALLOWANCE_HPP
#define LIMITREE_SERVER_H2_ALLOWANCE_HPP

#include <algorithm>

#include "io/timer.hpp"

namespace limitree::server {

// `burst` frames at once, and then `per_second`.
class Allowance {
 public:
  Allowance(std::int64_t burst, std::int64_t per_second, Instant now)
      : interval_(kSecond / per_second),
        offset_(interval_ * burst),
        full_at_(now) {}

  // Whether so many more frames are allowed.
  bool take(Instant now, std::int64_t frames = 1) {
    const Instant full_at = std::max(full_at_, now) + interval_ * frames;
    if (full_at - now > offset_) return false;
    full_at_ = full_at;
    return true;
  }

  // Gives back `frames`.
  void give(std::int64_t frames) { full_at_ -= interval_ * frames; }

 private:
  Nanoseconds interval_;
  Nanoseconds offset_;
  Instant full_at_;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_H2_ALLOWANCE_HPP
