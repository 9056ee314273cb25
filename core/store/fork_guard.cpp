#include "store/fork_guard.hpp"

#include <pthread.h>

#include <mutex>

namespace limitree {

// The guards of this process, newest first.
struct ForkGuards {
  std::mutex mutex;  // guards the list; held across fork()
  ForkGuard* newest = nullptr;

  // Never destroyed: fork() may be called after static destructors have run.
  static ForkGuards& of_process() {
    static ForkGuards* const guards = [] {
      pthread_atfork(before_fork, after<&ForkGuard::after_fork>,
                     after<&ForkGuard::after_fork_in_child>);
      return new ForkGuards;
    }();
    return *guards;
  }

  static void before_fork() {
    ForkGuards& guards = of_process();
    guards.mutex.lock();
    for (ForkGuard* g = guards.newest; g != nullptr; g = g->older_) {
      g->before_fork();
    }
  }

  // `call` is that of the parent or that of the child.
  template <void (ForkGuard::*call)()>
  static void after() {
    ForkGuards& guards = of_process();
    for (ForkGuard* g = guards.newest; g != nullptr; g = g->older_) {
      (g->*call)();
    }
    guards.mutex.unlock();
  }
};

void ForkGuard::watch_forks() {
  ForkGuards& guards = ForkGuards::of_process();
  const std::lock_guard lock(guards.mutex);
  older_ = guards.newest;
  if (older_ != nullptr) older_->newer_ = this;
  guards.newest = this;
}

void ForkGuard::unwatch_forks() {
  ForkGuards& guards = ForkGuards::of_process();
  const std::lock_guard lock(guards.mutex);
  (newer_ != nullptr ? newer_->older_ : guards.newest) = older_;
  if (older_ != nullptr) older_->newer_ = newer_;
}

}  // namespace limitree
