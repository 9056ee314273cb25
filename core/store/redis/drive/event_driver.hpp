// What a Loop has under way: the tasks, the connections, the timers.
//
// Its time is that in which it could run.  While anything is under way it wants
// to run every few milliseconds; what a run comes late, because the host was
// busy or the machine had no processor to give, does not count against a
// deadline or a server.
//
// Not for several threads at once; the Loop sees to that.

#ifndef LIMITREE_STORE_REDIS_DRIVE_EVENT_DRIVER_HPP
#define LIMITREE_STORE_REDIS_DRIVE_EVENT_DRIVER_HPP

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "store/redis/drive/line.hpp"
#include "store/redis/drive/loop.hpp"
#include "store/redis/drive/poller.hpp"
#include "store/redis/drive/timers.hpp"

namespace limitree::redis {

class EventDriver {
 public:
  using Tasks = std::vector<std::unique_ptr<AsyncTask>>;

  // Everything must outlive it.
  EventDriver(Router* router, const Settings& settings, Poller* poller);
  ~EventDriver();
  EventDriver(const EventDriver&) = delete;
  EventDriver& operator=(const EventDriver&) = delete;

  // One run: read() first, then add() what is new, then work(), which appends
  // what has finished.
  void read();
  void add(std::unique_ptr<AsyncTask> task, Duration time);
  void work(Tasks* finished);

  // Whether the task was under way; the next work() hands it back.
  bool cancel(AsyncTask* task);
  Tasks cancel_all();

  void abandon_after_fork();

 private:
  struct Job;
  struct Link;
  struct Check;

  // Jobs in the order of arrival.
  struct Queue {
    bool empty() const { return first == nullptr; }
    void push(Job* job);
    Job* pop();
    void remove(Job* job);

    Job* first = nullptr;
    Job* last = nullptr;
  };

  void begin_run();
  Job* new_job(Task* task, Monotonic deadline);
  void free_job(Job* job);
  Link* link_of(Node* node);

  void proceed(Job* job, Task::Step step);
  void send(Job* job);
  void send_to(Job* job, Node* node);
  void fail(Job* job, Failure failure, const char* detail);
  void handle_outcome(Job* job);
  bool send_again(Job* job, bool learnt);
  void finish(Job* job);

  void wait_for_route(Job* job);
  void end_discovery();

  void expire_timers();
  void expire(Job* job);
  Outcome give_up(Job* job);
  Task::Step resume(Job* job);

  void check(Node* node);
  void checked();

  void touch(Link* link);
  void flush();
  void watch(Link* link);
  void set_timer();

  Router* const router_;
  const Settings& settings_;
  Poller* const poller_;

  Monotonic real_now_{};                    // of the present run
  Duration lost_{};                         // between runs, in all
  Monotonic now_{};                         // real_now_ - lost_
  std::vector<std::unique_ptr<Job>> jobs_;  // never fewer
  std::vector<Job*> free_;
  std::unordered_map<Node*, std::unique_ptr<Link>> links_;
  std::vector<Link*> touched_;  // to be flushed, and to be watched anew
  Queue answered_;              // outcomes to be handed to their tasks
  Queue routeless_;             // waiting for discovery_
  std::vector<Check*> checked_;
  std::unique_ptr<Task> discovery_task_;
  Job* discovery_ = nullptr;
  Timers<Job> deadlines_;  // of tasks
  Timers<Job> soon_;       // ends of pauses, and of attempts of a discovery
  Monotonic timer_ = Monotonic::max();  // as set in poller_; real
  Tasks finished_;
};

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_DRIVE_EVENT_DRIVER_HPP
