// The clock of a store: the system's, or one that the caller brings.

#ifndef LIMITREE_STORE_CLOCK_HPP
#define LIMITREE_STORE_CLOCK_HPP

#include <time.h>

#include <chrono>
#include <cstdint>

#include "base/time.hpp"

namespace limitree {

class Clock {
 public:
  // Returns nanoseconds since 1970-01-01 UTC; may be called from any thread.
  using Function = std::int64_t (*)(void* user_data);

  // The system's: set by the wall clock once, now, and from then on driven by
  // the one that counts up steadily, so that a stepped wall clock neither
  // empties nor fills a bucket.
  Clock()
      : offset_(std::chrono::system_clock::now().time_since_epoch() -
                since_boot()) {}

  // REQUIRES: function is not null.
  Clock(Function function, void* user_data)
      : function_(function), user_data_(user_data) {}

  Instant now() const {
    return Instant(function_ == nullptr ? since_boot() + offset_
                                        : Duration(function_(user_data_)));
  }

 private:
  static Duration since_boot() {
#ifdef CLOCK_BOOTTIME  // goes on while the machine is suspended, as debts do
    constexpr clockid_t kId = CLOCK_BOOTTIME;
#else
    constexpr clockid_t kId = CLOCK_MONOTONIC;
#endif
    timespec time{};
    clock_gettime(kId, &time);
    return std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec);
  }

  Function function_ = nullptr;
  void* user_data_ = nullptr;
  Duration offset_{};
};

}  // namespace limitree

#endif  // LIMITREE_STORE_CLOCK_HPP
