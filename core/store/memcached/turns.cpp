#include "store/memcached/turns.hpp"

#include <utility>

#include "store/remote/drivers/wakeup.hpp"

namespace limitree::memcached {

using remote::Wakeup;

struct Turns::Waiting {
  Waiting* next = nullptr;
  Wakeup wakeup;  // kDone: it has the turn
};

bool Turns::take(std::size_t hash, Monotonic until) {
  Slot& slot = slot_of(hash);
  Waiting me;
  {
    const std::lock_guard lock(slot.mutex);
    if (!std::exchange(slot.taken, true)) return true;
    (slot.first == nullptr ? slot.first : slot.last->next) = &me;
    slot.last = &me;
  }
  Wakeup::Word word = me.wakeup.wait(Wakeup::Word::kNone, until);
  if (word == Wakeup::Word::kDone) return true;
  {
    const std::lock_guard lock(slot.mutex);
    Waiting* before = nullptr;
    for (Waiting* one = slot.first; one != nullptr; one = one->next) {
      if (one == &me) {
        (before == nullptr ? slot.first : before->next) = me.next;
        if (slot.last == &me) slot.last = before;
        return false;
      }
      before = one;
    }
  }
  // It got the turn in that moment.
  while (word != Wakeup::Word::kDone) {
    word = me.wakeup.wait(word, Monotonic::max());
  }
  return true;
}

void Turns::pass(std::size_t hash) {
  Slot& slot = slot_of(hash);
  Wakeup::Sleeper next;
  {
    const std::lock_guard lock(slot.mutex);
    Waiting* const one = slot.first;
    if (one == nullptr) {
      slot.taken = false;
      return;
    }
    slot.first = one->next;
    if (slot.first == nullptr) slot.last = nullptr;
    // Once the word is set it may be gone.
    next = one->wakeup.set(Wakeup::Word::kDone);
  }
  next.wake();
}

void Turns::before_fork() {
  for (Slot& slot : slots_) slot.mutex.lock();
}

void Turns::after_fork_in_parent() {
  for (Slot& slot : slots_) slot.mutex.unlock();
}

void Turns::after_fork_in_child() {
  for (Slot& slot : slots_) {
    slot.taken = false;
    slot.first = slot.last = nullptr;
    slot.mutex.unlock();
  }
}

}  // namespace limitree::memcached
