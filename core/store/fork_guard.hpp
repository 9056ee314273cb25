// Locks that survive fork(): their owners are called before and after it.
//
// A child of fork() has only one thread.  A lock that another thread held at
// that moment would stay locked in the child forever, and the data it guards
// might be half written.  So every lock is taken before fork(), and released
// after it, in parent and child.

#pragma once

namespace limitree {

// The base of objects that hold locks.  Newer objects are called first, so an
// object may hold its own lock while it takes the lock of an older one.
class ForkGuard {
 public:
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

 protected:
  ForkGuard() = default;
  virtual ~ForkGuard() = default;

  // Start and end the calls.  To be called at the end of the most derived
  // constructor, and at the beginning of its destructor.
  void watch_forks();
  void unwatch_forks();

 private:
  virtual void before_fork() = 0;  // takes every lock
  virtual void after_fork() = 0;   // releases them; runs in parent and child

  // Called in the child instead, for objects that do more there than unlock.
  virtual void after_fork_in_child() { after_fork(); }

  friend struct ForkGuards;
  ForkGuard* newer_ = nullptr;
  ForkGuard* older_ = nullptr;
};

}  // namespace limitree
