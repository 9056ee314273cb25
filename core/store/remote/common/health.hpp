// Whether it is worth trying a server now: a circuit breaker, and the waits
// between attempts to connect.
//
// The circuit opens because of what the server did, never because of how many
// calls failed: a pause of this process makes many calls fail at once, and says
// nothing about the server.  Either the server did not answer for too long, or
// it showed kFailuresToOpen times in a row that it cannot serve: it refused or
// broke a connection, or sent an answer such as LOADING.
//
// While the circuit is open attempts are refused until a wait has passed, or
// the server has been heard from; then one is let through.
//
// After an attempt that fails at once (see is_cheap()) the wait is drawn at
// random between kShortWait / 2 and kShortWait: callers get errors until an
// attempt finds the server back.  An attempt that keeps its caller waiting, or
// costs the server a handshake, is made less often: those waits double from
// kShortWait to kLongestWait, each drawn at random from zero to that ("full
// jitter": Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog,
// 2015).
//
// May be used from several threads at once.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/time.hpp"
#include "io/timer.hpp"
#include "store/remote/common/failure.hpp"

namespace limitree::remote {

// Whether this caller may go on: only one may until `between` has passed.
inline bool take_turn(std::atomic<Monotonic>* next, Monotonic now,
                      Duration between) {
  Monotonic due = next->load(std::memory_order_relaxed);
  return now >= due && next->compare_exchange_strong(due, now + between,
                                                     std::memory_order_relaxed);
}

class Health {
 public:
  static constexpr std::int32_t kFailuresToOpen = 3;
  static constexpr Duration kShortWait = std::chrono::milliseconds(100);
  static constexpr Duration kLongestWait = std::chrono::seconds(2);

  // Whether to try now.  If the circuit is open and its wait has passed, one
  // caller gets true, and the others false until that one has reported.
  bool may_try(Monotonic now);

  void succeeded();
  void failed(Failure failure, Monotonic now);

  // A connection that was ready since `ready` has broken.  When a server stops,
  // all its connections break: that is one failure.
  void broke(Monotonic ready, Monotonic now);

  // Nothing has come for too long: opens the circuit at once.
  void silent(Monotonic now);

  // The server seems to work again, or the caller that tried has learnt
  // nothing: the next caller may try at once.
  void let_try(Monotonic now);

  bool open() const;
  // When the next attempt will be let through; in the past if not open.
  Monotonic next_try() const;

 private:
  std::atomic<std::int32_t> failures_{0};
  std::atomic<std::int64_t> next_try_{0};  // ns of Monotonic
  std::atomic<std::int64_t> broke_{0};     // the same; the last break counted
};

}  // namespace limitree::remote
