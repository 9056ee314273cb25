#include "store/redis/run.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "store/redis/drive.hpp"
#include "store/redis/wakeup.hpp"

namespace limitree::redis {

namespace {

using Clock = std::chrono::steady_clock;

// A pause that does not fit into the time left is none: the next command will
// be told that its time has passed.
bool pause(Duration length, Monotonic deadline) {
  if (Clock::now() + length >= deadline) return false;
  std::this_thread::sleep_for(length);
  return true;
}

}  // namespace

// Somebody who waits for another caller's discovery.
struct Runner::Waiting {
  Waiting* next = nullptr;
  bool concluded = false;  // set before the wake-up
  Wakeup wakeup;
};

void Runner::run(Task* task, Monotonic deadline) {
  Task::Step step = task->start();
  bool in_time = true;
  while (step.kind != Task::Step::Kind::kDone) {
    if (step.kind == Task::Step::Kind::kPause) {
      in_time = pause(step.pause, deadline);
      step = task->resumed();
      continue;
    }
    Outcome outcome = in_time ? send(*task, deadline) : timed_out(false);
    const bool last = outcome.trouble == Trouble::kTimeout;
    step = task->answered(std::move(outcome));
    if (last) return;
  }
}

Outcome Runner::send(const Task& task, Monotonic deadline) {
  for (std::int32_t routes = 0;; ++routes) {
    const Target& target = task.target();
    Node* const node = find(target, deadline);
    if (node == nullptr) {
      return Clock::now() >= deadline ? timed_out(false)
                                      : no_route(router_->discovery_failure());
    }
    Outcome outcome =
        node->exchange(task.bytes(), target.asking, deadline, task.joinable());
    const bool again = router_->learn(node, target, outcome);
    check(node);
    if (!again || routes == kMaxRoutes ||
        outcome.fate != Outcome::Fate::kNotSent ||
        outcome.trouble == Trouble::kTimeout) {
      return outcome;
    }
  }
}

// Null if no discovery could tell, or the deadline has passed.
Node* Runner::find(const Target& target, Monotonic deadline) {
  for (bool concluded = false;; concluded = discover(deadline)) {
    Node* const node = router_->route(target);
    if (node != nullptr) return node;
    if (concluded || Clock::now() >= deadline) return nullptr;
  }
}

// Returns whether it is known now what can be known.
bool Runner::discover(Monotonic deadline) {
  Waiting me;
  bool mine = true;
  {
    const std::lock_guard lock(mutex_);
    mine = !std::exchange(discovering_, true);
    if (!mine) me.next = std::exchange(waiting_, &me);
  }
  return mine ? lead(deadline) : follow(&me, deadline);
}

bool Runner::lead(Monotonic deadline) {
  const bool concluded = carry_discovery(deadline);
  Waiting* waiting = nullptr;
  {
    const std::lock_guard lock(mutex_);
    discovering_ = false;
    waiting = std::exchange(waiting_, nullptr);
  }
  while (waiting != nullptr) {
    // Once told it may be gone.
    Waiting* const next = waiting->next;
    waiting->concluded = concluded;
    waiting->wakeup.set(Wakeup::Word::kDone).wake();
    waiting = next;
  }
  return true;
}

bool Runner::follow(Waiting* me, Monotonic deadline) {
  Wakeup::Word word = me->wakeup.wait(Wakeup::Word::kNone, deadline);
  if (word != Wakeup::Word::kDone) {
    const std::lock_guard lock(mutex_);
    for (Waiting** at = &waiting_; *at != nullptr; at = &(*at)->next) {
      if (*at != me) continue;
      *at = me->next;
      return false;
    }
  }
  // The one who leads has taken the list, and tells us in a moment.
  while (word != Wakeup::Word::kDone) {
    word = me->wakeup.wait(word, Monotonic::max());
  }
  return me->concluded;
}

// Each server that is asked gets half of the time that is left, lest one that
// hangs keep the others from being asked.  Returns false if somebody with more
// time might learn more.
bool Runner::carry_discovery(Monotonic deadline) {
  const std::unique_ptr<Task> task = router_->discovery();
  if (task == nullptr) return true;
  bool in_time = true;
  Task::Step step = task->start();
  while (step.kind != Task::Step::Kind::kDone) {
    const Monotonic now = Clock::now();
    if (now >= deadline) {
      if (step.kind == Task::Step::Kind::kSend)
        task->answered(timed_out(false));
      return false;
    }
    if (step.kind == Task::Step::Kind::kPause) {
      std::this_thread::sleep_for(
          std::min<Duration>(step.pause, deadline - now));
      step = task->resumed();
      continue;
    }
    Node* const node = router_->route(task->target());
    Outcome outcome = node == nullptr
                          ? no_route(Status())
                          : node->exchange(task->bytes(), task->target().asking,
                                           now + (deadline - now) / 2);
    in_time &= outcome.trouble != Trouble::kTimeout;
    step = task->answered(std::move(outcome));
  }
  return in_time;
}

// Sends a check if one is due, and hands on the answer to an earlier one.
void Runner::check(Node* node) {
  const Router::Check due = router_->check_due(node, Clock::now());
  if (due.node != nullptr) due.node->post(due.bytes);
  for (Node* const asked : {node, due.node}) {
    if (asked == nullptr) continue;
    const std::optional<Outcome> outcome = asked->take_posted();
    if (outcome) router_->checked(asked, *outcome);
  }
}

// Who discovered, and who waited, are threads of the parent.
void Runner::after_fork_in_child() {
  discovering_ = false;
  waiting_ = nullptr;
  mutex_.unlock();
}

}  // namespace limitree::redis
