// Timers of one event loop.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/time.hpp"

namespace limitree {

// Steady time, for deadlines and waits.
using Monotonic = std::chrono::steady_clock::time_point;

inline constexpr Duration kMillisecond = std::chrono::milliseconds(1);
inline constexpr Duration kOneSecond = std::chrono::seconds(1);

inline Monotonic steady_now() { return std::chrono::steady_clock::now(); }

// The instant `wait` after `now`; the last one if that is too far away.
inline Monotonic after(Monotonic now, Duration wait) {
  return wait >= Monotonic::max() - now ? Monotonic::max() : now + wait;
}

class Timers;

// Calls a function once, at the instant that was set last.  Belongs to the
// thread of its loop, which must outlive it.  Only the constructor may
// allocate.
class Timer {
 public:
  Timer(Timers* timers, std::function<void()> on_time);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Replaces the instant; the last one is cancel().
  void set(Monotonic at);
  void cancel();
  bool is_set() const { return place_ != kNowhere; }
  // The instant that was set last.
  Monotonic at() const { return at_; }

 private:
  friend class Timers;
  static constexpr std::size_t kNowhere = SIZE_MAX;

  Timers* timers_;
  std::function<void()> on_time_;
  Monotonic at_{};
  std::uint64_t turn_ = 0;        // among those that were set
  std::size_t place_ = kNowhere;  // in the heap
  std::size_t due_ = kNowhere;    // among those that are due
};

// All timers of a loop, as a binary heap that knows where each of them is: to
// set or to cancel one takes logarithmic time, whatever instants callers
// choose. Those of one instant come in the order in which they were set.
class Timers {
 public:
  Timers() { due_.reserve(kMaxDue); }

  // The earliest instant, or the last that there is.  While some of those that
  // were taken are still to be called, because the function of another has
  // thrown: an instant that is over.
  Monotonic next() const {
    if (called_ < due_.size()) return {};
    return heap_.empty() ? Monotonic::max() : heap_[0]->at_;
  }
  // Takes timers up to `now` out of the heap, the earliest first.  Takes only a
  // few at a time, so that many timers of one client do not hold up the loop;
  // the next call takes the rest.
  void take_due(Monotonic now);
  // Calls the function of one of them; false if there are no more.
  bool run_due();

 private:
  friend class Timer;
  static bool is_before(const Timer* one, const Timer* other);
  void make_room();
  void put(Timer* timer, std::size_t place);
  void rise(Timer* timer, std::size_t place);
  void sink(Timer* timer, std::size_t place);
  void insert(Timer* timer);
  void remove(Timer* timer);

  static constexpr std::size_t kMaxDue = 256;

  std::size_t count_ = 0;  // of timers, set or not
  std::uint64_t turns_ = 0;
  std::vector<Timer*> heap_;
  std::vector<Timer*> due_;  // taken out; null if cancelled since then
  std::size_t called_ = 0;   // of due_, those that were called
};

}  // namespace limitree
