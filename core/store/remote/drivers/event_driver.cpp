#include "store/remote/drivers/event_driver.hpp"

#include <algorithm>

#include "store/remote/drivers/attempt.hpp"

namespace limitree::remote {
namespace {

// More of them could not be answered within a usual deadline.
constexpr std::size_t kMaxInFlightOfLoop = 16384;

// How often it wants to run while anything is under way: a delay shows for how
// long the process could not run.
constexpr Duration kBeat = std::chrono::milliseconds(10);

}  // namespace

// ---- jobs and links --------------------------------------------------------

EventDriver::EventDriver(Router* router, const Settings& settings,
                         Poller* poller)
    : router_(router), settings_(settings), poller_(poller) {}

EventDriver::~EventDriver() = default;

EventDriver::Job* EventDriver::new_job(Task* task, Monotonic deadline) {
  if (free_.empty()) {
    jobs_.push_back(std::make_unique<Job>(this));
    // free_job() finds room for all.
    if (free_.capacity() < jobs_.size()) free_.reserve(2 * jobs_.size());
    free_.push_back(jobs_.back().get());
  }
  Job* const job = free_.back();
  free_.pop_back();
  job->task = task;
  job->deadline.set(deadline);
  return job;
}

void EventDriver::free_job(Job* job) {
  job->deadline.cancel();
  job->soon.cancel();
  job->state = Job::State::kFree;
  job->link = nullptr;
  job->outcome = Outcome();
  job->discovery = nullptr;
  free_.push_back(job);
}

EventDriver::Link* EventDriver::link_of(Node* node) {
  auto found = links_.find(node);
  if (found == links_.end()) {
    checked_.reserve(links_.size() + 1);  // for Check::complete()
    auto made = std::make_unique<Link>(
        node, router_->settings_of(node, settings_), this);
    found = links_.emplace(node, std::move(made)).first;
  }
  Link* const link = found->second.get();
  // Completes what was on its way there.
  if (std::exchange(link->drops, node->drops()) != node->drops()) {
    link->connection.close(Failure::kLost, "the connection was given up");
  }
  return link;
}

// ---- one run ---------------------------------------------------------------

// All that has come is read before anything may expire.
void EventDriver::read(bool always) {
  real_now_ = std::chrono::steady_clock::now();
  now_ = time_.begin(real_now_);
  if (!always && timers_.next() > now_) return;
  std::array<Poller::Ready, 64> ready;
  std::size_t count = 0;
  std::size_t seen = 0;
  do {
    count = poller_->poll(ready);
    seen += count;
    for (std::size_t i = 0; i < count; ++i) {
      auto* const link = static_cast<Link*>(ready[i].owner);
      if (link == nullptr) continue;  // it was woken
      link->connection.run(now_);
      touch(link);
    }
    // What stays ready, as a new connection that can be written to, comes again
    // after all others: a link twice at most, by kqueue, besides the wake-up
    // and the timer.
  } while (count == ready.size() && seen < 2 * links_.size() + 2);
}

void EventDriver::add(std::unique_ptr<AsyncTask>* task, Duration time) {
  // finish() finds room for all that are under way.
  make_room(finished_.size() + 1, &finished_);
  Job* const job = new_job((*task)->task(), now_ + time);
  job->owner = std::move(*task);
  proceed(job, job->task->start());
}

void EventDriver::make_room(std::size_t more, Tasks* tasks) const {
  const std::size_t count = jobs_.size() - free_.size() + more;
  if (tasks->capacity() < count) tasks->reserve(2 * count);
}

void EventDriver::work(Tasks* finished) {
  try {
    make_room(0, finished);
    do {
      while (Job* const job = answered_.pop()) handle_outcome(job);
      checked();
      run_timers();
      flush();
    } while (!answered_.empty());
  } catch (...) {
    set_timer();  // the next run does the rest
    throw;
  }
  set_timer();
  finished->swap(finished_);
}

// ---- tasks -----------------------------------------------------------------

void EventDriver::proceed(Job* job, Task::Step step) {
  switch (step.kind) {
    case Task::Step::Kind::kSend:
      job->routes = 0;
      job->fresh = false;
      return send(job);
    case Task::Step::Kind::kPause:
      // A pause that does not fit into the time left is skipped.
      job->state = Job::State::kPausing;
      return job->soon.set(std::min(now_ + step.pause, job->deadline.at()));
    case Task::Step::Kind::kDone:
      return finish(job);
  }
}

void EventDriver::finish(Job* job) {
  if (job->discovery != nullptr) return end_discovery(job->discovery);
  finished_.push_back(std::move(job->owner));
  free_job(job);
}

void EventDriver::send(Job* job) {
  const Discovery* const discovery = job->discovery;
  Router* const router = discovery != nullptr ? discovery->router : router_;
  Node* const node = router->route(job->task->target());
  if (node != nullptr) return send_to(job, node);
  if (discovery == nullptr) return wait_for_route(job);
  job->link = nullptr;
  job->complete(no_route(Status()));
}

void EventDriver::send_to(Job* job, Node* node) {
  job->link = link_of(node);
  job->sent_at = now_;
  Connection& connection = job->link->connection;
  touch(job->link);
  if (!node->health().may_try(real_now_)) {
    // A server that hangs is heard as soon as it is back.
    if (connection.open()) connection.renew(now_);
    return fail(job, Failure::kBackoff, "not tried, the last attempts failed");
  }
  const bool usable = connection.prepare(now_, false);
  if (!usable) {
    return fail(job, Failure::kBackoff, "answers are overdue");
  }
  if (connection.in_flight() >= kMaxInFlightOfLoop) {
    return fail(job, Failure::kBackoff, "too many commands are in flight");
  }
  job->state = Job::State::kSent;
  if (job->discovery != nullptr) {
    // Each server that is asked gets half of the time that is left.
    job->soon.set(now_ + (job->deadline.at() - now_) / 2);
  }
  connection.push(job, job->task->target().asking, now_);
}

void EventDriver::fail(Job* job, Failure failure, const char* detail) {
  job->complete(Outcome::lost(Outcome::Fate::kNotSent, failure, detail));
}

void EventDriver::handle_outcome(Job* job) {
  job->state = Job::State::kTaken;
  job->soon.cancel();
  bool learnt = false;
  if (job->link != nullptr) {
    Node* const node = job->link->node;
    if (is_stale(job->outcome) && !std::exchange(job->fresh, true)) {
      return send_to(job, node);
    }
    show_reply(job->task, &job->outcome);
    report(job->outcome, now_ - job->sent_at, real_now_, node);
    learnt = router_->learn(node, job->task->target(), job->outcome);
    if (job->owner != nullptr) check(node);
  }
  if (learnt && job->outcome.fate == Outcome::Fate::kNotSent &&
      !is_out_of_time(job->outcome.failure) && job->routes++ < kMaxRoutes) {
    return send(job);
  }
  proceed(job, job->task->answered(std::move(job->outcome)));
}

// ---- discovery -------------------------------------------------------------

void EventDriver::wait_for_route(Job* job) {
  job->link = nullptr;
  Discovery& discovery = discovery_of(job->task->target());
  if (discovery.job == nullptr) {
    discovery.router = router_->part(job->task->target());
    discovery.task = discovery.router->discovery();
    if (discovery.task == nullptr) {
      return job->complete(no_route(discovery.router->discovery_failure()));
    }
    discovery.job = new_job(discovery.task.get(), now_ + settings_.timeout);
    discovery.job->discovery = &discovery;
  }
  job->state = Job::State::kRouteless;
  discovery.waiting.push(job);
  if (discovery.job->state == Job::State::kFree) {
    proceed(discovery.job, discovery.task->start());
  }
}

// Tasks that waited for a route go where they can; the others have failed.
void EventDriver::end_discovery(Discovery* discovery) {
  free_job(std::exchange(discovery->job, nullptr));
  discovery->task.reset();
  const Job* const last = discovery->waiting.last;
  while (Job* const job = discovery->waiting.pop()) {
    job->state = Job::State::kTaken;  // if memory runs out: until its deadline
    if (Node* const node = router_->route(job->task->target())) {
      send_to(job, node);
    } else {
      job->complete(no_route(discovery->router->discovery_failure()));
    }
    if (job == last) break;
  }
}

// ---- time ------------------------------------------------------------------

void EventDriver::run_timers() {
  while (timers_.next() <= now_) {
    timers_.take_due(now_);
    while (timers_.run_due()) {
    }
  }
}

void EventDriver::wake_up(Job* job) {
  if (job->state == Job::State::kPausing && now_ < job->deadline.at()) {
    proceed(job, job->task->resumed());
  } else if (job->state == Job::State::kSent) {
    job->complete(give_up(job));
  }
}

// If memory runs out, it is tried again soon: nothing else would end the task.
void EventDriver::time_over(Job* job) {
  try {
    expire(job);
  } catch (...) {
    const bool is_left = job->owner != nullptr || job->discovery != nullptr;
    if (is_left) job->deadline.set(now_ + kBeat);
    throw;
  }
}

// Whatever the task wants next, there is no time for it.
void EventDriver::expire(Job* job) {
  const bool pausing = job->state == Job::State::kPausing;
  if (pausing) job->soon.cancel();
  if (!pausing || job->task->resumed().kind == Task::Step::Kind::kSend) {
    Outcome outcome = give_up(job);
    if (job->link != nullptr && !pausing) {
      Node* const node = job->link->node;
      report(outcome, now_ - job->sent_at, real_now_, node);
      router_->learn(node, job->task->target(), outcome);
    }
    job->task->answered(std::move(outcome));
  }
  finish(job);
}

// Takes the job from where it waits for an answer.
Outcome EventDriver::give_up(Job* job) {
  if (job->state == Job::State::kSent) {
    const bool sent = job->link->connection.abandon(job);  // or it stays there
    job->state = Job::State::kTaken;
    return job->link->connection.expired(sent, now_);
  }
  switch (std::exchange(job->state, Job::State::kTaken)) {
    case Job::State::kRouteless:
      discovery_of(job->task->target()).waiting.remove(job);
      break;
    case Job::State::kAnswered:
      answered_.remove(job);
      return std::move(job->outcome);
    case Job::State::kTaken:  // memory ran out then: it may have been sent
      return Outcome::timed_out(true);
    case Job::State::kSent:
    case Job::State::kPausing:
    case Job::State::kFree:
      break;
  }
  return Outcome::timed_out(false);
}

void EventDriver::set_timer() {
  time_.end(std::chrono::steady_clock::now());
  if (timers_.next() == Monotonic::max()) return;
  const std::optional<Monotonic> next =
      time_.want(std::min(timers_.next(), now_ + kBeat));
  if (next) poller_->set_timer(*next);
}

EventDriver::Tasks EventDriver::cancel_all() {
  const Monotonic real_now = std::chrono::steady_clock::now();
  for (const auto& [node, link] : links_) {
    // It may be the attempt that was let through to a failing server: another
    // loop need not wait for its report.
    if (link->connection.in_flight() > 0) node->health().let_try(real_now);
  }
  for (const std::unique_ptr<Job>& job : jobs_) {
    if (job->owner == nullptr) continue;
    job->owner->status = Status::limiter_is_closed();
    finished_.push_back(std::move(job->owner));
  }
  links_.clear();  // completes what is in flight
  return std::move(finished_);
}

// ---- connections -----------------------------------------------------------

void EventDriver::touch(Link* link) {
  if (link->touched) return;
  touched_.push_back(link);
  link->touched = true;
}

void EventDriver::flush() {
  while (!touched_.empty()) {
    Link* const link = touched_.back();
    link->connection.flush();
    watch(link);
    touched_.pop_back();  // if memory runs out before, the next run does it
    link->touched = false;
  }
}

// Until a connection is ready its descriptor may have been replaced by another
// of the same number, so the poller is always told again.
void EventDriver::watch(Link* link) {
  Connection& connection = link->connection;
  if (!connection.open()) return;
  const Link::Watched now{connection.fd(), connection.wants_write(),
                          connection.generation()};
  if (link->fd_is_final && link->watched == now) return;
  link->fd_is_final = connection.ready();
  link->watched = now;
  const std::uint32_t events =
      now.write ? Poller::kRead | Poller::kWrite : Poller::kRead;
  if (!poller_->watch(now.fd, events, link)) {
    connection.close(Failure::kRefused, "cannot watch the connection");
  }
}

// ---- checks ----------------------------------------------------------------

void EventDriver::check(Node* node) {
  const Router::Check due = router_->check_due(node, real_now_);
  if (due.node == nullptr || !due.node->health().may_try(real_now_)) return;
  Link* const link = link_of(due.node);
  if (link->check.due || !link->connection.prepare(now_, false)) return;
  link->check.words = due.bytes;
  touch(link);
  link->connection.push(&link->check, false, now_);
  link->check.due = true;  // not if memory has run out
}

void EventDriver::checked() {
  while (!checked_.empty()) {
    Check* const check = checked_.back();
    checked_.pop_back();
    check->due = false;
    const Outcome outcome = std::move(check->outcome);
    if (outcome.fate == Outcome::Fate::kAnswered) {
      report_answer(outcome.failure, real_now_, &check->node->health());
    }
    router_->checked(check->node, outcome);
  }
}

void EventDriver::abandon_after_fork() {
  for (const auto& [node, link] : links_) link->connection.abandon_after_fork();
}

}  // namespace limitree::remote
