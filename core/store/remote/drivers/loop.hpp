// Drives tasks for callers that do not block: inside the host's event loop, by
// way of one descriptor to watch.  Several loops may share a router: what one
// of them learns about the servers, all know.
//
// It has one connection for each node.  What is started during one turn of the
// host's loop goes out in one write, with the next run(); a host that calls it
// at the end of such a turn need not come back for that.  What one run()
// finished is handed over in one call.

#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "io/poller.hpp"
#include "store/fork_guard.hpp"
#include "store/remote/common/settings.hpp"
#include "store/remote/drivers/event_driver.hpp"
#include "store/remote/drivers/task_loop.hpp"
#include "store/remote/route/router.hpp"
#include "store/store.hpp"

namespace limitree::remote {

class Loop final : public TaskLoop, private ForkGuard {
 public:
  // Opens nothing yet.  Everything must outlive it.
  Loop(Router* router, const Settings& settings, Finished finished);
  ~Loop() override;  // close()

  // Readable when run() should be called; made on first use, -1 if it could not
  // be made.  Another one after fork().  From any thread.
  int fd() override;

  void start(std::unique_ptr<AsyncTask> task, Duration time) {
    start({&task, 1}, time);
  }
  void start(std::span<std::unique_ptr<AsyncTask>> tasks,
             Duration time) override;

  // Whether start() makes the descriptor readable, as it does at first.  If
  // not, the caller of start() calls run() before the host waits again.
  void set_wakeups(bool on) override;

  // The longest `time` that start() gives from now on.
  void set_time_limit(Duration limit) override;

  // Does what is to be done; never waits for a server.  From any thread, but
  // one at a time.
  void run() override;

  // Hands back everything as kCancelled and closes the connections.
  void close();

 private:
  struct Started {
    std::unique_ptr<AsyncTask> task;
    Duration time;
  };

  int fd_locked();
  void wake_locked();
  void turn(std::vector<std::unique_ptr<AsyncTask>>* finished, bool reads);
  void take();
  void hand_back(std::span<std::unique_ptr<AsyncTask>> tasks);
  bool hand_back_with_room(std::span<std::unique_ptr<AsyncTask>> tasks);

  // The child forgets what is under way without reporting it: it belongs to
  // the parent.
  void before_fork() override;
  void after_fork() override;
  void after_fork_in_child() override;

  Router* const router_;
  const Settings& settings_;
  const Finished finished_;

  std::mutex run_mutex_;  // taken before start_mutex_
  std::unique_ptr<EventDriver> driver_;

  // What a run has taken from started_; those before `added_` are at work.  The
  // others wait for the next run if there was no memory.
  std::vector<Started> taken_;
  std::size_t added_ = 0;
  // Empty: its memory, for the next run().
  std::vector<std::unique_ptr<AsyncTask>> spare_finished_;

  std::mutex start_mutex_;
  std::unique_ptr<Poller> poller_;  // destroyed only with both mutexes held
  std::vector<Started> started_;
  Duration time_limit_ = Duration::max();
  bool wakes_ = true;
  bool woken_ = false;  // the descriptor is readable for started_ already
  bool closed_ = false;
};

}  // namespace limitree::remote
