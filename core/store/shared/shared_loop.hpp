// Requests that wait for a lock of a file in an event loop, which must not
// sleep: each is tried again now and then, until its time is over.

#pragma once

#include <functional>
#include <list>
#include <mutex>
#include <utility>

#include "base/status.hpp"
#include "base/time.hpp"
#include "store/fork_guard.hpp"
#include "store/store.hpp"

namespace limitree {

class SharedLoop final : public StoreLoop, private ForkGuard {
 public:
  // Returns whether the request is answered, which it must be if it is late.
  using Attempt = std::function<bool(Pending*, bool is_late, Status* status)>;

  // Opens nothing before the first use.
  explicit SharedLoop(Attempt attempt) : attempt_(std::move(attempt)) {
    watch_forks();
  }
  ~SharedLoop() override;

  // A timer, made on first use.
  int fd() override;
  void run() override;
  // Only the timer wakes the host.
  void set_wakeups(bool /*on*/) override {}
  void set_time_limit(Duration limit) override;

  // `pending` completes in a later run().
  // REQUIRES: fd() >= 0.
  void add(Pending* pending);

 private:
  struct Waiting {
    Pending* pending;
    Duration end;  // of the steady clock
  };

  bool take_first();
  void put_back();
  void before_fork() override { mutex_.lock(); }
  void after_fork() override { mutex_.unlock(); }
  void after_fork_in_child() override;

  const Attempt attempt_;
  std::mutex mutex_;
  int timer_ = -1;
  Duration time_limit_ = Duration::max();
  std::list<Waiting> waiting_;  // those to be tried first come first
  std::list<Waiting> tried_;    // at most one: run() tries it
};

}  // namespace limitree
