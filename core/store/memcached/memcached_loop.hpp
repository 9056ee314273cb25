// The requests of one event loop.  Of those that have met a conflict over the
// same family, one at a time goes on.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>

#include "base/time.hpp"
#include "store/fork_guard.hpp"
#include "store/memcached/decision.hpp"
#include "store/memcached/settings.hpp"
#include "store/remote/drivers/loop.hpp"
#include "store/store.hpp"

namespace limitree::memcached {

class MemcachedLoop final : public StoreLoop, private ForkGuard {
 public:
  // Everything must outlive it.
  MemcachedLoop(remote::Router* router, const Settings& settings);
  ~MemcachedLoop() override;

  int fd() override { return loop_.fd(); }
  void run() override { loop_.run(); }
  void set_wakeups(bool on) override { loop_.set_wakeups(on); }
  void set_time_limit(Duration limit) override { time_limit_ = limit; }

  // From any thread.
  void start(Pending* pending, const Context& context);

 private:
  class Ticket;
  class Alarm;
  using Tasks = std::span<std::unique_ptr<remote::AsyncTask>>;
  using Owned = std::unique_ptr<remote::AsyncTask>;

  // Those that wait while another one has the turn.
  struct Turn {
    std::deque<Owned> waiting;  // tickets
    std::uint64_t alarm = 0;    // for the time of the first of them; 0: none
  };

  void finished(Tasks tasks);
  void finish(Owned owned);
  void wait(Owned owned, std::size_t turn);
  void set_alarm(std::size_t turn);
  void ring(const Alarm& alarm);
  void pass(std::size_t turn, bool is_over);
  bool go_on(Owned* owned);

  // The child forgets those that wait, as it does what is under way.
  void before_fork() override { mutex_.lock(); }
  void after_fork() override { mutex_.unlock(); }
  void after_fork_in_child() override;

  const Settings& settings_;
  std::atomic<Duration> time_limit_{Duration::max()};
  // Not locked while anything is completed, or started.
  std::mutex mutex_;
  // By the families that somebody has the turn for.  Guarded by mutex_.
  std::unordered_map<std::size_t, Turn> turns_;
  std::uint64_t alarms_ = 0;  // so far; guarded by mutex_
  remote::Loop loop_;         // the last: its end completes all tickets
};

}  // namespace limitree::memcached
