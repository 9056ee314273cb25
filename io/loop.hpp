// The event loop of one worker.

#pragma once

#include <sys/epoll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "io/look.hpp"
#include "io/poller.hpp"
#include "io/timer.hpp"

namespace limitree {

// What is called when a descriptor is ready.
class Watcher {
 public:
  // `events` are those of epoll: EPOLLIN, EPOLLOUT, EPOLLHUP, EPOLLERR.
  virtual void on_ready(std::uint32_t events) = 0;

 protected:
  ~Watcher() = default;
};

// Work for the end of a turn of the loop, when all that was ready has been
// handled: many answers of one turn then become one write.
class AtTurnEnd {
 public:
  virtual void on_turn_end() = 0;

 protected:
  virtual ~AtTurnEnd() = default;

 private:
  friend class Loop;
  static constexpr std::size_t kNowhere = SIZE_MAX;
  std::size_t place_ = kNowhere;  // in Loop::ending_
};

// Level-triggered polling, timers, and functions from other threads.  All but
// post() and stop() belong to the thread that calls run().
class Loop : public Timers {
 public:
  // With `low_latency` it looks for more events before it sleeps.
  explicit Loop(LowLatency low_latency = LowLatency::kOff);
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // `watcher` stays until remove().  Throws Failure.
  void add(int fd, std::uint32_t events, Watcher* watcher);
  void change(int fd, std::uint32_t events, Watcher* watcher);
  // After this call `watcher` may be destroyed, even in the middle of a turn.
  void remove(int fd, Watcher* watcher);

  // Runs `work` once at the end of this turn, however often it is asked for.
  void at_turn_end(AtTurnEnd* work);
  void forget(AtTurnEnd* work);

  // Runs `work` on the loop's thread.  From any thread.
  void post(std::function<void()> work);

  // Runs until stop(), whatever exceptions its work throws: see tell_trouble().
  void run();
  // From any thread; posted work that is already there still runs.
  void stop();

  // The time at which this turn began.
  Monotonic now() const { return now_; }
  // The time now, for work at the end of a turn: the clock is read once for all
  // of it.
  Monotonic turn_end();

 private:
  void turn();
  void wait();
  void look();
  void finish_turn();
  void run_posted();

  Poller poller_;
  Look look_;
  Monotonic now_;
  std::optional<Monotonic> turn_end_;  // set on first use in this turn
  std::array<Poller::Ready, 256> ready_;
  std::size_t ready_count_ = 0;
  bool busy_ = false;  // events came in the last turn
  std::vector<AtTurnEnd*> ending_;
  std::mutex mutex_;  // guards posted_
  std::vector<std::function<void()>> posted_;
  std::vector<std::function<void()>> running_;  // taken from posted_
  bool stopped_ = false;
};

}  // namespace limitree
