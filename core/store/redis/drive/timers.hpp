// Instants in the order of their coming, as a list.
//
// Timeouts of one length come in the order in which they were set, so a new one
// belongs at the end, and is looked for from there.

#ifndef LIMITREE_STORE_REDIS_DRIVE_TIMERS_HPP
#define LIMITREE_STORE_REDIS_DRIVE_TIMERS_HPP

#include "store/redis/facts/health.hpp"

namespace limitree::redis {

// Owned by whom it reminds.
template <typename Owner>
struct Timer {
  explicit Timer(Owner* of) : owner(of) {}

  Owner* const owner;
  Monotonic at{};
  Timer* previous = nullptr;
  Timer* next = nullptr;
  bool set = false;
};

template <typename Owner>
class Timers {
 public:
  Timer<Owner>* first() const { return first_; }
  Monotonic next() const {
    return first_ != nullptr ? first_->at : Monotonic::max();
  }

  // REQUIRES: it is not set.
  void set(Timer<Owner>* timer, Monotonic at) {
    timer->at = at;
    timer->set = true;
    Timer<Owner>* before = last_;
    while (before != nullptr && before->at > at) before = before->previous;
    timer->previous = before;
    timer->next = before != nullptr ? before->next : first_;
    (before != nullptr ? before->next : first_) = timer;
    (timer->next != nullptr ? timer->next->previous : last_) = timer;
  }

  void clear(Timer<Owner>* timer) {
    if (!timer->set) return;
    timer->set = false;
    (timer->previous != nullptr ? timer->previous->next : first_) = timer->next;
    (timer->next != nullptr ? timer->next->previous : last_) = timer->previous;
  }

 private:
  Timer<Owner>* first_ = nullptr;
  Timer<Owner>* last_ = nullptr;
};

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_DRIVE_TIMERS_HPP
