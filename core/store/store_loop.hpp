// The requests of one event loop that a store has not answered yet.
//
// A store has any number of loops.  Different threads run different loops at
// the same time.  A loop must go before its store.

#ifndef LIMITREE_STORE_STORE_LOOP_HPP
#define LIMITREE_STORE_STORE_LOOP_HPP

#include "base/time.hpp"

namespace limitree {

class StoreLoop {
 public:
  // Completes what is pending with kCancelled.
  virtual ~StoreLoop() = default;
  StoreLoop(const StoreLoop&) = delete;
  StoreLoop& operator=(const StoreLoop&) = delete;

  // The descriptor that the host watches for reading; -1 if there is none left.
  // From any thread.
  virtual int fd() = 0;

  // To be called when fd() is readable, on one thread at a time.
  virtual void run() = 0;

  // Without wake-ups, starting a request does not make the descriptor readable:
  // the caller then has to call run() before the host waits again.
  virtual void set_wakeups(bool on) = 0;

  // The longest time for requests that are started from now on, if that is
  // shorter than what the store gives them.
  virtual void set_time_limit(Duration limit) = 0;

 protected:
  StoreLoop() = default;
};

}  // namespace limitree

#endif  // LIMITREE_STORE_STORE_LOOP_HPP
