// Drives tasks for callers that do not block, by way of a client of the host.
//
// The host may watch the descriptor as that of any loop.  Or it never asks for
// one: then it calls run() after it has started something or given an answer,
// and when until_run() has passed.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "io/poller.hpp"
#include "io/timer.hpp"
#include "store/fork_guard.hpp"
#include "store/remote/drivers/client.hpp"
#include "store/remote/drivers/task_loop.hpp"
#include "store/remote/drivers/waiting.hpp"
#include "store/remote/route/task.hpp"

namespace limitree::remote {

class ClientLoop final : public TaskLoop, private ForkGuard {
 public:
  // Everything must outlive it.
  ClientLoop(Client* client, Finished finished);
  ~ClientLoop() override;

  int fd() override;
  bool can_wake() override { return true; }
  void start(std::span<std::unique_ptr<AsyncTask>> tasks,
             Duration time) override;
  void set_wakeups(bool on) override;
  void set_time_limit(Duration limit) override;

  // Sends commands, too, without a lock: the host may answer at once, or run
  // this loop again.
  void run() override;
  std::optional<Duration> until_run() override;

 private:
  using Tasks = std::vector<std::unique_ptr<AsyncTask>>;
  struct Job;
  struct Started {
    std::unique_ptr<AsyncTask> task;
    Duration time;
  };
  struct Command {
    std::uint64_t token;
    std::string bytes;  // a copy: the task may end while they are sent
    Duration time_left;
  };

  // Those that have their answers, in the order of arrival.
  struct Queue {
    void append(Queue other);
    Job* pop();

    Job* first = nullptr;
    Job* last = nullptr;
  };

  void turn();
  void poll();
  void add_started();
  void handle_answers();
  Job* new_job();
  void proceed(Job* job, Task::Step step);
  bool send(Job* job);
  void resume(Job* job);
  void expire(Job* job);
  void finish(Job* job);
  void set_timer();
  bool has_answers();
  void hand_back(Tasks tasks);
  void cancel(std::unique_ptr<AsyncTask>* task);

  // The child forgets what is under way without reporting it.
  void before_fork() override { run_mutex_.lock(); }
  void after_fork() override { run_mutex_.unlock(); }
  void after_fork_in_child() override;

  Client* const client_;
  const Finished finished_;

  std::mutex run_mutex_;  // taken before the mutex of the client
  RunningTime time_;
  Monotonic now_{};  // of the present run, in time_
  Timers timers_;
  std::vector<std::unique_ptr<Job>> jobs_;  // never fewer
  std::vector<Job*> free_;
  std::vector<Started> starting_;
  Queue answering_;
  Tasks done_;                     // to be handed back
  std::vector<Command> commands_;  // to be sent

  std::atomic<std::size_t> under_way_{0};

  // Guarded by the mutex of the client.
  std::vector<Started> started_;
  Queue answered_;
  std::shared_ptr<Poller> poller_;
  Monotonic next_run_ = Monotonic::max();
  bool must_run_ = false;  // memory ran out in the last run
  Duration time_limit_ = Duration::max();
  bool wakes_ = true;
};

}  // namespace limitree::remote
