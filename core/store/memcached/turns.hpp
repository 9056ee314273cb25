// Callers of one process that block and compete for the same items: after a
// conflict one at a time goes on, in the order in which they came.  Otherwise
// all of them would read, and only one of them could write.

#pragma once

#include <array>
#include <cstddef>
#include <mutex>

#include "store/remote/common/health.hpp"

namespace limitree::memcached {

class Turns {
 public:
  // Waits until `until`; false if it did not get the turn.  Items of different
  // hashes may share one.
  bool take(std::size_t hash, Monotonic until);
  void pass(std::size_t hash);  // to the next one

  // Around fork(): those who wait are threads of the parent.
  void before_fork();
  void after_fork_in_parent();
  void after_fork_in_child();

 private:
  struct Waiting;

  struct Slot {
    std::mutex mutex;  // guards the rest
    bool taken = false;
    Waiting* first = nullptr;
    Waiting* last = nullptr;
  };

  Slot& slot_of(std::size_t hash) { return slots_[hash % slots_.size()]; }

  // fork() locks all of them, and ThreadSanitizer knows 64 locks at a time.
  std::array<Slot, 16> slots_;
};

}  // namespace limitree::memcached
