#include "store/remote/drivers/blocking_driver.hpp"

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "store/remote/drivers/attempt.hpp"
#include "store/remote/drivers/wakeup.hpp"

namespace limitree::remote {

namespace {

using SteadyClock = std::chrono::steady_clock;

// A pause that does not fit into the time left is skipped: the next command
// learns that its time has passed.
bool pause(Duration length, Patience* patience) {
  patience->look(SteadyClock::now());
  if (length >= patience->left()) return false;
  std::this_thread::sleep_for(length);
  patience->look_after(length, SteadyClock::now());
  return true;
}

// Null if there is none yet.  Only a BlockingDriver makes pools.
ConnectionPool* made_pool(Node* node) {
  return static_cast<ConnectionPool*>(node->pool());
}

}  // namespace

// A caller that waits for another caller's discovery.
struct BlockingDriver::Waiting {
  Waiting* next = nullptr;
  bool concluded = false;  // set before the wake-up
  Wakeup wakeup;
};

void BlockingDriver::run(Task* task, Duration timeout) {
  // One look at the clock: the thread may be stopped between two of them.
  const Monotonic started = SteadyClock::now();
  Patience patience(started, started + timeout);
  Task::Step step = task->start();
  bool in_time = true;
  while (step.kind != Task::Step::Kind::kDone) {
    if (step.kind == Task::Step::Kind::kPause) {
      in_time = pause(step.pause, &patience);
      step = task->resumed();
      // Whatever it waits for has not come in time.
      if (!in_time && step.kind == Task::Step::Kind::kPause) return;
      continue;
    }
    Outcome outcome =
        in_time ? send(task, &patience) : Outcome::timed_out(false);
    const bool last = is_out_of_time(outcome.failure);
    step = task->answered(std::move(outcome));
    if (last) return;
  }
}

// Made on the first use of a node.
ConnectionPool& BlockingDriver::pool_of(Node* node) {
  if (made_pool(node) == nullptr) {
    const std::lock_guard lock(mutex_);
    if (made_pool(node) == nullptr) {
      node->set_pool(std::make_unique<ConnectionPool>(
          node, router_->settings_of(node, settings_)));
    }
  }
  return *made_pool(node);
}

Outcome BlockingDriver::send(Task* task, Patience* patience) {
  if (client_ != nullptr) return client_->exchange(task, patience);
  for (std::int32_t routes = 0;; ++routes) {
    const Target& target = task->target();
    Node* const node = find(target, patience);
    if (node == nullptr) {
      return patience->over()
                 ? Outcome::timed_out(false)
                 : no_route(router_->part(target)->discovery_failure());
    }
    Outcome outcome = pool_of(node).exchange(task, patience);
    const bool again = router_->learn(node, target, outcome);
    check(node);
    if (!again || routes == kMaxRoutes ||
        outcome.fate != Outcome::Fate::kNotSent ||
        is_out_of_time(outcome.failure)) {
      return outcome;
    }
  }
}

// Null if no discovery found a node, or the deadline has passed.
Node* BlockingDriver::find(const Target& target, Patience* patience) {
  for (bool concluded = false;; concluded = discover(target, patience)) {
    Node* const node = router_->route(target);
    if (node != nullptr) return node;
    patience->look(SteadyClock::now());
    if (concluded || patience->over()) return nullptr;
  }
}

// Returns whether a discovery has now found out what it can.
bool BlockingDriver::discover(const Target& target, Patience* patience) {
  Discovery& discovery = discovery_of(target);
  Waiting me;
  bool mine = true;
  {
    const std::lock_guard lock(mutex_);
    mine = !std::exchange(discovery.under_way, true);
    if (!mine) me.next = std::exchange(discovery.waiting, &me);
  }
  return mine ? lead(target, patience) : follow(&discovery, &me, patience);
}

bool BlockingDriver::lead(const Target& target, Patience* patience) {
  bool concluded = false;
  const auto end = [&](Discovery* discovery) {
    Waiting* waiting = nullptr;
    {
      const std::lock_guard lock(mutex_);
      waiting = std::exchange(*discovery, {}).waiting;
    }
    while (waiting != nullptr) {
      // Once it is woken, it may be gone.
      Waiting* const next = waiting->next;
      waiting->concluded = concluded;
      waiting->wakeup.set(Wakeup::Word::kDone).wake();
      waiting = next;
    }
  };
  // Also if memory runs out: others would wait for its end for ever.
  const std::unique_ptr<Discovery, decltype(end)> ends(&discovery_of(target),
                                                       end);
  concluded = run_discovery(router_->part(target), patience);
  return true;
}

bool BlockingDriver::follow(Discovery* discovery, Waiting* me,
                            Patience* patience) {
  Wakeup::Word word = Wakeup::Word::kNone;
  while (word != Wakeup::Word::kDone && !patience->over()) {
    word = me->wakeup.wait(word, patience->wait_until());
    patience->look(SteadyClock::now());
  }
  if (word != Wakeup::Word::kDone) {
    const std::lock_guard lock(mutex_);
    for (Waiting** at = &discovery->waiting; *at != nullptr;
         at = &(*at)->next) {
      if (*at != me) continue;
      *at = me->next;
      return false;
    }
  }
  // The leader has taken the list, and wakes us in a moment.
  while (word != Wakeup::Word::kDone) {
    word = me->wakeup.wait(word, Monotonic::max());
  }
  return me->concluded;
}

// Each server that is asked gets half of the time that is left, so that a
// server that hangs leaves time for the others.  Returns false if a caller with
// more time might learn more.
bool BlockingDriver::run_discovery(Router* part, Patience* patience) {
  const std::unique_ptr<Task> task = part->discovery();
  if (task == nullptr) return true;
  bool in_time = true;
  Task::Step step = task->start();
  while (step.kind != Task::Step::Kind::kDone) {
    patience->look(SteadyClock::now());
    if (patience->over()) {
      if (step.kind == Task::Step::Kind::kSend)
        task->answered(Outcome::timed_out(false));
      return false;
    }
    if (step.kind == Task::Step::Kind::kPause) {
      const Duration length = std::min(step.pause, patience->left());
      std::this_thread::sleep_for(length);
      patience->look_after(length, SteadyClock::now());
      step = task->resumed();
      continue;
    }
    Node* const node = part->route(task->target());
    Patience half = patience->half();
    Outcome outcome = node == nullptr
                          ? no_route(Status())
                          : pool_of(node).exchange(task.get(), &half);
    patience->look_after(half);
    in_time &= !is_out_of_time(outcome.failure);
    step = task->answered(std::move(outcome));
  }
  return in_time;
}

// Sends a check if one is due, and hands on the answer to an earlier one.
void BlockingDriver::check(Node* node) {
  const Router::Check due = router_->check_due(node, SteadyClock::now());
  if (due.node != nullptr) pool_of(due.node).post(due.bytes);
  for (Node* const asked : {node, due.node}) {
    if (asked == nullptr) continue;
    const std::optional<Outcome> outcome = pool_of(asked).take_posted();
    if (outcome) router_->checked(asked, *outcome);
  }
}

void BlockingDriver::for_each_pool(void (ConnectionPool::*call)()) {
  router_->for_each([call](Node* node) {
    if (ConnectionPool* const pool = made_pool(node)) (pool->*call)();
  });
}

void BlockingDriver::before_fork() {
  mutex_.lock();
  for_each_pool(&ConnectionPool::before_fork);
}

void BlockingDriver::after_fork_in_parent() {
  for_each_pool(&ConnectionPool::after_fork_in_parent);
  mutex_.unlock();
}

// The threads that discovered, and that waited for it, are the parent's.
void BlockingDriver::after_fork_in_child() {
  for_each_pool(&ConnectionPool::after_fork_in_child);
  discoveries_ = {};
  mutex_.unlock();
}

}  // namespace limitree::remote
