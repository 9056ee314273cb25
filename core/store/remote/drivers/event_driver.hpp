// What a Loop has under way: the tasks, the connections, the timers.
//
// Its clock counts only the time in which it waits: see RunningTime.  While
// anything is under way it wants to run every few milliseconds.
//
// Not for several threads at once; the Loop sees to that.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "io/poller.hpp"
#include "io/timer.hpp"
#include "store/remote/common/settings.hpp"
#include "store/remote/drivers/task_loop.hpp"
#include "store/remote/drivers/waiting.hpp"
#include "store/remote/route/router.hpp"
#include "store/remote/route/task.hpp"
#include "store/remote/wire/connection.hpp"

namespace limitree::remote {

class EventDriver {
 public:
  using Tasks = std::vector<std::unique_ptr<AsyncTask>>;

  // Everything must outlive it.
  EventDriver(Router* router, const Settings& settings, Poller* poller);
  ~EventDriver();
  EventDriver(const EventDriver&) = delete;
  EventDriver& operator=(const EventDriver&) = delete;

  // One run: read() first, which just after another run may read only if a
  // deadline is over; then add() what is new, then work(), which fills
  // *finished, empty before, with what has finished.  add() leaves a task for
  // which there is no memory.
  void read(bool always);
  void add(std::unique_ptr<AsyncTask>* task, Duration time);
  void work(Tasks* finished);

  // The end of its work, which needs no memory: returns all that was under way,
  // or has finished.
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

  // Of one part of the router.
  struct Discovery {
    Router* router = nullptr;  // the part
    std::unique_ptr<Task> task;
    Job* job = nullptr;  // null: none is under way
    Queue waiting;       // for its end
  };

  // For `more` tasks besides those under way.
  void make_room(std::size_t more, Tasks* tasks) const;
  Job* new_job(Task* task, Monotonic deadline);
  void free_job(Job* job);
  Link* link_of(Node* node);

  void proceed(Job* job, Task::Step step);
  void send(Job* job);
  void send_to(Job* job, Node* node);
  void fail(Job* job, Failure failure, const char* detail);
  void handle_outcome(Job* job);
  void finish(Job* job);

  void wait_for_route(Job* job);
  void end_discovery(Discovery* discovery);
  Discovery& discovery_of(const Target& target) {
    return discoveries_[target.per_second ? 1 : 0];
  }

  void run_timers();
  void wake_up(Job* job);
  void time_over(Job* job);
  void expire(Job* job);
  Outcome give_up(Job* job);

  void check(Node* node);
  void checked();

  void touch(Link* link);
  void flush();
  void watch(Link* link);
  void set_timer();

  Router* const router_;
  const Settings& settings_;
  Poller* const poller_;

  RunningTime time_;
  Monotonic real_now_{};  // of the present run
  Monotonic now_{};       // the same in time_
  Timers timers_;
  std::vector<std::unique_ptr<Job>> jobs_;  // never fewer
  std::vector<Job*> free_;
  std::unordered_map<Node*, std::unique_ptr<Link>> links_;
  std::vector<Link*> touched_;  // to be flushed, and watched again
  Queue answered_;              // outcomes to be handed to their tasks
  std::vector<Check*> checked_;
  std::array<Discovery, 2> discoveries_;
  Tasks finished_;
};

// A task under way, and the command whose answer it waits for.
struct EventDriver::Job final : Command {
  enum class State : std::uint8_t {
    kFree,
    kSent,       // pushed to the connection of `link`
    kAnswered,   // in answered_
    kPausing,    // until `soon`
    kRouteless,  // waiting for a Discovery
    kTaken,      // from where it was
  };

  explicit Job(EventDriver* of)
      : driver(*of),
        deadline(&of->timers_, [this] { driver.time_over(this); }),
        soon(&of->timers_, [this] { driver.wake_up(this); }) {}

  std::string_view bytes() const override { return task->bytes(); }
  Joinable joinable() const override { return task->joinable(); }
  std::size_t replies() const override { return task->replies(); }

  void complete(Outcome result) noexcept override {
    outcome = std::move(result);
    state = State::kAnswered;
    driver.answered_.push(this);
  }

  EventDriver& driver;
  std::unique_ptr<AsyncTask> owner;  // null: a discovery
  Discovery* discovery = nullptr;    // if so, which
  Task* task = nullptr;
  State state = State::kFree;
  Link* link = nullptr;  // where the command was sent; null: nowhere
  Monotonic sent_at{};
  std::int32_t routes = 0;  // of the present command
  bool fresh = false;       // it was sent again, over a fresh connection
  Outcome outcome;
  Timer deadline;  // of the task
  Timer soon;      // the end of a pause, or of an attempt of a discovery
  Job* previous = nullptr;
  Job* next = nullptr;
};

inline void EventDriver::Queue::push(Job* job) {
  job->previous = last;
  job->next = nullptr;
  (last != nullptr ? last->next : first) = job;
  last = job;
}

inline EventDriver::Job* EventDriver::Queue::pop() {
  Job* const job = first;
  if (job != nullptr) remove(job);
  return job;
}

inline void EventDriver::Queue::remove(Job* job) {
  (job->previous != nullptr ? job->previous->next : first) = job->next;
  (job->next != nullptr ? job->next->previous : last) = job->previous;
}

// A command that no task waits for.
struct EventDriver::Check final : Command {
  explicit Check(EventDriver* of) : driver(*of) {}

  std::string_view bytes() const override { return words; }

  void complete(Outcome result) noexcept override {
    outcome = std::move(result);
    driver.checked_.push_back(this);
  }

  EventDriver& driver;
  Node* node = nullptr;
  std::string_view words;
  bool due = false;
  Outcome outcome;
};

struct EventDriver::Link {
  Link(Node* of, const Settings& settings, EventDriver* driver)
      : node(of), check(driver), connection(of, settings) {
    check.node = of;
  }

  Node* const node;
  Check check;
  Connection connection;
  std::uint64_t drops = 0;  // of the node, that the connection has followed
  // What the poller watches.
  struct Watched {
    int fd = -1;
    bool write = false;
    std::uint64_t generation = 0;
    friend bool operator==(const Watched&, const Watched&) = default;
  };
  Watched watched;
  bool fd_is_final = false;  // the connection is ready
  bool touched = false;
};

}  // namespace limitree::remote
