// Timers of one event loop.

#ifndef LIMITREE_IO_TIMER_HPP
#define LIMITREE_IO_TIMER_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace limitree {

// Nanoseconds of the steady clock.
using Instant = std::int64_t;
using Nanoseconds = std::int64_t;

inline constexpr Instant kNever = INT64_MAX;
inline constexpr Nanoseconds kMillisecond = 1'000'000;
inline constexpr Nanoseconds kSecond = 1'000 * kMillisecond;

// The instant `wait` after `now`; kNever if that is too far away.
inline Instant after(Instant now, Nanoseconds wait) {
  return wait >= kNever - now ? kNever : now + wait;
}

class Timers;

// Calls a function once, at the instant that was set last.  Belongs to the
// thread of its loop, which must outlive it.
class Timer {
 public:
  Timer(Timers* timers, std::function<void()> on_time)
      : timers_(timers), on_time_(std::move(on_time)) {}
  ~Timer() { cancel(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Replaces the instant; kNever is cancel().
  void set(Instant at);
  void cancel();
  bool is_set() const { return place_ != kNowhere; }

 private:
  friend class Timers;
  static constexpr std::size_t kNowhere = SIZE_MAX;

  Timers* timers_;
  std::function<void()> on_time_;
  Instant at_ = kNever;
  std::size_t place_ = kNowhere;  // in the heap
  std::size_t due_ = kNowhere;    // among those that are due
};

// All timers of a loop, as a binary heap that knows where each of them is: to
// set or to cancel one takes logarithmic time.
class Timers {
 public:
  // The earliest instant, or kNever.
  Instant next() const { return heap_.empty() ? kNever : heap_[0]->at_; }
  // Takes timers up to `now` out of the heap, the earliest first.  There are
  // few at a time, so that many that a client has set do not keep others from
  // the loop; the rest is due at the next call.
  void take_due(Instant now);
  // Calls the function of one of them; false if there are no more.
  bool run_due();

 private:
  friend class Timer;
  void put(Timer* timer, std::size_t place);
  void rise(Timer* timer, std::size_t place);
  void sink(Timer* timer, std::size_t place);
  void insert(Timer* timer, Instant at);
  void remove(Timer* timer);

  static constexpr std::size_t kMaxDue = 256;

  std::vector<Timer*> heap_;
  std::vector<Timer*> due_;  // taken out; null if cancelled since then
  std::size_t called_ = 0;   // so many of them
};

}  // namespace limitree

#endif  // LIMITREE_IO_TIMER_HPP
