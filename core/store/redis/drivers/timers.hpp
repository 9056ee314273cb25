// Instants in the order of their coming; those of one instant in the order in
// which they were set.
//
// A pairing heap (Fredman, Sedgewick, Sleator, Tarjan, Algorithmica 1, 1986):
// to set is one step, and to clear takes O(log n) in the mean, whatever the
// order of the instants: callers choose their deadlines.  It takes no memory of
// its own.

#ifndef LIMITREE_STORE_REDIS_DRIVERS_TIMERS_HPP
#define LIMITREE_STORE_REDIS_DRIVERS_TIMERS_HPP

#include <cstdint>
#include <utility>

#include "store/redis/common/health.hpp"

namespace limitree::redis {

// Owned by whom it reminds.
template <typename Owner>
struct Timer {
  explicit Timer(Owner* of) : owner(of) {}

  Owner* const owner;
  Monotonic at{};
  std::uint64_t turn = 0;     // of those that were set
  Timer* child = nullptr;     // the first of those that come later
  Timer* previous = nullptr;  // the sibling before, or the parent of the first
  Timer* next = nullptr;      // the sibling after
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
    timer->turn = ++turns_;
    timer->set = true;
    first_ = meld(first_, timer);
  }

  void clear(Timer<Owner>* timer) {
    if (!timer->set) return;
    timer->set = false;
    Timer<Owner>* const later = meld_all(std::exchange(timer->child, nullptr));
    if (timer == first_) {
      first_ = later;
      return;
    }
    Timer<Owner>* const before = std::exchange(timer->previous, nullptr);
    Timer<Owner>* const after = std::exchange(timer->next, nullptr);
    (before->child == timer ? before->child : before->next) = after;
    if (after != nullptr) after->previous = before;
    first_ = meld(first_, later);
  }

 private:
  // Both without siblings; null is none.
  static Timer<Owner>* meld(Timer<Owner>* a, Timer<Owner>* b) {
    if (a == nullptr || b == nullptr) return a != nullptr ? a : b;
    if (b->at < a->at || (b->at == a->at && b->turn < a->turn)) std::swap(a, b);
    b->previous = a;
    b->next = std::exchange(a->child, b);
    if (b->next != nullptr) b->next->previous = b;
    return a;
  }

  // Siblings, in pairs from the first to the last, and then all of them from
  // the last to the first.
  static Timer<Owner>* meld_all(Timer<Owner>* siblings) {
    Timer<Owner>* pairs = nullptr;
    while (siblings != nullptr) {
      Timer<Owner>* const one = take_first(&siblings);
      Timer<Owner>* const pair = meld(one, take_first(&siblings));
      pair->next = std::exchange(pairs, pair);
    }
    Timer<Owner>* all = nullptr;
    while (pairs != nullptr) all = meld(all, take_first(&pairs));
    return all;
  }

  static Timer<Owner>* take_first(Timer<Owner>** siblings) {
    Timer<Owner>* const first = *siblings;
    if (first == nullptr) return nullptr;
    *siblings = std::exchange(first->next, nullptr);
    first->previous = nullptr;
    return first;
  }

  Timer<Owner>* first_ = nullptr;
  std::uint64_t turns_ = 0;
};

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_DRIVERS_TIMERS_HPP
