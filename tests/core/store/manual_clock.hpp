// Time that moves when the test says so, also for several threads.

#pragma once

#include <atomic>
#include <cstdint>

#include "store/clock.hpp"

namespace limitree {

class ManualClock {
 public:
  Clock clock() { return Clock(read, this); }
  void advance(Duration by) { now_ns_ += by.count(); }
  void set(Instant now) { now_ns_ = now.time_since_epoch().count(); }
  Instant now() const { return Instant(Duration(now_ns_)); }

 private:
  static std::int64_t read(void* self) {
    return static_cast<ManualClock*>(self)->now_ns_;
  }

  std::atomic<std::int64_t> now_ns_{1'750'000'000'000'000'000};
};

}  // namespace limitree
