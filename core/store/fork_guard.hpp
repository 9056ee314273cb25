// Locks survive fork(): what holds locks is told before and after.
//
// A child of fork() has one thread only.  A lock that another thread held at
// that moment would stay locked in the child for ever, and what it guards
// might be half written.  So every lock is taken before, and released after,
// in parent and child.

#ifndef LIMITREE_STORE_FORK_GUARD_HPP
#define LIMITREE_STORE_FORK_GUARD_HPP

namespace limitree {

// Base of objects that hold locks.  What is made later is told first, so an
// object may hold its own lock while it takes one of an older object.
class ForkGuard {
 public:
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

 protected:
  ForkGuard() = default;
  virtual ~ForkGuard() = default;

  // Starts and ends being told.  To be called at the end of the most derived
  // constructor and at the beginning of its destructor.
  void watch_forks();
  void unwatch_forks();

 private:
  virtual void before_fork() = 0;  // takes every lock
  virtual void after_fork() = 0;   // releases them; runs in parent and child

  // In the child instead, for what has more to do there than to unlock.
  virtual void after_fork_in_child() { after_fork(); }

  friend struct ForkGuards;
  ForkGuard* newer_ = nullptr;
  ForkGuard* older_ = nullptr;
};

}  // namespace limitree

#endif  // LIMITREE_STORE_FORK_GUARD_HPP
