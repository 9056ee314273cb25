#include "store/remote/drivers/client_loop.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace limitree::remote {

namespace {

// As for loops with connections: a delay shows for how long the process could
// not run.
constexpr Duration kBeatOfClient = std::chrono::milliseconds(10);

}  // namespace

// A task under way, and the command whose answer it waits for.
struct ClientLoop::Job final : Client::Call {
  enum class State : std::uint8_t { kTaken, kSent, kPausing };

  explicit Job(ClientLoop* of)
      : loop(*of),
        deadline(&of->timers_, [this] { loop.expire(this); }),
        soon(&of->timers_, [this] { loop.resume(this); }) {}

  Wakeup::Sleeper take(Outcome result) noexcept override {
    outcome = std::move(result);
    next = nullptr;
    loop.answered_.append({this, this});
    if (loop.poller_ != nullptr) loop.poller_->wake();
    return {};
  }

  Task* task() const { return owner->task(); }

  ClientLoop& loop;
  std::unique_ptr<AsyncTask> owner;  // null: the job is free
  State state = State::kTaken;
  Outcome outcome;
  Timer deadline;  // of the task
  Timer soon;      // the end of a pause
  Job* next = nullptr;
};

void ClientLoop::Queue::append(Queue other) {
  if (other.first == nullptr) return;
  (first == nullptr ? first : last->next) = other.first;
  last = other.last;
}

ClientLoop::Job* ClientLoop::Queue::pop() {
  Job* const job = first;
  if (job != nullptr) first = job->next;
  return job;
}

ClientLoop::ClientLoop(Client* client, Finished finished)
    : client_(client), finished_(std::move(finished)) {
  watch_forks();
}

// There may be no memory left, and nobody who could be told.
ClientLoop::~ClientLoop() {
  unwatch_forks();
  for (const std::unique_ptr<Job>& job : jobs_) {
    if (job->owner != nullptr) client_->forget(*job);
  }
  std::vector<Started> started;
  {
    const std::lock_guard lock(client_->mutex());
    started = std::move(started_);
  }
  for (std::unique_ptr<AsyncTask>& task : done_) cancel(&task);
  for (const std::unique_ptr<Job>& job : jobs_) cancel(&job->owner);
  for (Started& one : starting_) cancel(&one.task);
  for (Started& one : started) cancel(&one.task);
}

void ClientLoop::cancel(std::unique_ptr<AsyncTask>* task) {
  if (*task == nullptr) return;
  (*task)->status = Status::limiter_is_closed();
  finished_({task, 1});
}

// If it could not be made, the next call tries again.
int ClientLoop::fd() {
  const std::lock_guard lock(client_->mutex());
  if (poller_ == nullptr || poller_->fd() == -1) {
    poller_ = std::make_shared<Poller>();  // a run may still use the old one
    poller_->wake();                       // something may have been started
    if (next_run_ != Monotonic::max()) poller_->set_timer(next_run_);
  }
  return poller_->fd();
}

void ClientLoop::start(std::span<std::unique_ptr<AsyncTask>> tasks,
                       Duration time) {
  const std::lock_guard lock(client_->mutex());
  const std::size_t count = started_.size() + tasks.size();
  if (count > started_.capacity()) started_.reserve(2 * count);
  for (std::unique_ptr<AsyncTask>& task : tasks) {
    started_.push_back({std::move(task), std::min(time, time_limit_)});
  }
  if (wakes_ && poller_ != nullptr) poller_->wake();
}

void ClientLoop::set_wakeups(bool on) {
  const std::lock_guard lock(client_->mutex());
  wakes_ = on;
  if (on && poller_ != nullptr && !started_.empty()) poller_->wake();
}

void ClientLoop::set_time_limit(Duration limit) {
  const std::lock_guard lock(client_->mutex());
  time_limit_ = limit;
}

std::optional<Duration> ClientLoop::until_run() {
  const std::lock_guard lock(client_->mutex());
  if (must_run_ || !started_.empty() || answered_.first != nullptr) {
    return Duration::zero();
  }
  if (under_way_ == 0) return std::nullopt;
  return std::max<Duration>(next_run_ - steady_now(), Duration::zero());
}

// ---- one run ---------------------------------------------------------------

void ClientLoop::run() {
  do {
    Tasks done;
    std::vector<Command> commands;
    {
      const std::lock_guard lock(run_mutex_);
      turn();
      done.swap(done_);
      commands.swap(commands_);
    }
    for (const Command& command : commands) {
      client_->send(command.token, command.bytes, command.time_left);
    }
    hand_back(std::move(done));
  } while (has_answers());
}

void ClientLoop::turn() {
  now_ = time_.begin(steady_now());
  try {
    poll();
    add_started();
    handle_answers();
    while (timers_.next() <= now_) {
      timers_.take_due(now_);
      while (timers_.run_due()) {
      }
    }
  } catch (...) {
    set_timer();
    const std::lock_guard lock(client_->mutex());
    must_run_ = true;  // it does the rest
    if (poller_ != nullptr) poller_->wake();
    throw;
  }
  set_timer();
}

// Clears the wake-up before it takes what caused it.
void ClientLoop::poll() {
  std::shared_ptr<Poller> poller;
  {
    const std::lock_guard lock(client_->mutex());
    must_run_ = false;
    poller = poller_;
  }
  std::array<Poller::Ready, 4> ready;
  if (poller != nullptr && poller->fd() != -1) poller->poll(ready);
}

void ClientLoop::add_started() {
  {
    const std::lock_guard lock(client_->mutex());
    starting_.insert(starting_.end(), std::move_iterator(started_.begin()),
                     std::move_iterator(started_.end()));
    started_.clear();
  }
  for (Started& one : starting_) {
    if (one.task == nullptr) continue;  // there was no memory for the next one
    Job* const job = new_job();
    job->owner = std::move(one.task);
    job->deadline.set(after(now_, one.time));
    proceed(job, job->task()->start());
  }
  starting_.clear();
}

bool ClientLoop::has_answers() {
  const std::lock_guard lock(client_->mutex());
  return answered_.first != nullptr;
}

void ClientLoop::handle_answers() {
  {
    const std::lock_guard lock(client_->mutex());
    answering_.append(std::exchange(answered_, {}));
  }
  while (Job* const job = answering_.pop()) {
    job->state = Job::State::kTaken;
    client_->settle(*job, job->task(), &job->outcome);
    proceed(job, job->task()->answered(std::move(job->outcome)));
  }
}

// ---- jobs ------------------------------------------------------------------

ClientLoop::Job* ClientLoop::new_job() {
  if (free_.empty()) {
    jobs_.push_back(std::make_unique<Job>(this));
    // finish() finds room for all.
    if (free_.capacity() < jobs_.size()) free_.reserve(2 * jobs_.size());
    free_.push_back(jobs_.back().get());
  }
  Job* const job = free_.back();
  free_.pop_back();
  ++under_way_;
  return job;
}

void ClientLoop::proceed(Job* job, Task::Step step) {
  while (step.kind == Task::Step::Kind::kSend) {
    if (send(job)) return;
    step = job->task()->answered(std::move(job->outcome));
  }
  if (step.kind == Task::Step::Kind::kDone) return finish(job);
  // A pause that does not fit into the time left is skipped.
  job->state = Job::State::kPausing;
  job->soon.set(std::min(after(now_, step.pause), job->deadline.at()));
}

// False: its outcome is known already.
bool ClientLoop::send(Job* job) {
  if (now_ >= job->deadline.at()) {
    job->outcome = Outcome::timed_out(false);
    return false;
  }
  Command command{0, std::string(job->task()->bytes()),
                  job->deadline.at() - now_};
  if (commands_.size() == commands_.capacity()) {
    commands_.reserve(2 * commands_.size() + 1);
  }
  // From here on it is sent, or refused.
  if (std::optional<Outcome> refused = client_->begin(job)) {
    job->outcome = std::move(*refused);
    return false;
  }
  job->state = Job::State::kSent;
  command.token = job->token();
  commands_.push_back(std::move(command));
  return true;
}

void ClientLoop::resume(Job* job) {
  if (job->state == Job::State::kPausing && now_ < job->deadline.at()) {
    job->state = Job::State::kTaken;
    proceed(job, job->task()->resumed());
  }
}

// Whatever the task wants next, there is no time for it.
void ClientLoop::expire(Job* job) {
  job->soon.cancel();
  job->deadline.set(now_ + kBeatOfClient);  // again, if memory runs out
  switch (job->state) {
    case Job::State::kSent:
      if (!client_->forget(*job)) return;  // it is answered after all
      job->state = Job::State::kTaken;
      job->outcome = Outcome::timed_out(true);
      client_->settle(*job, job->task(), &job->outcome);
      break;
    case Job::State::kPausing:
      job->state = Job::State::kTaken;
      if (job->task()->resumed().kind != Task::Step::Kind::kSend) {
        return finish(job);
      }
      job->outcome = Outcome::timed_out(false);
      break;
    case Job::State::kTaken:  // memory ran out then: it may have been sent
      job->outcome = Outcome::timed_out(true);
      break;
  }
  job->task()->answered(std::move(job->outcome));
  finish(job);
}

void ClientLoop::finish(Job* job) {
  done_.push_back(std::move(job->owner));
  job->deadline.cancel();
  job->soon.cancel();
  job->state = Job::State::kTaken;
  job->outcome = Outcome();
  free_.push_back(job);
  --under_way_;
}

void ClientLoop::set_timer() {
  const Monotonic end = steady_now();
  time_.end(end);
  const std::lock_guard lock(client_->mutex());
  if (next_run_ <= end) next_run_ = Monotonic::max();
  if (timers_.next() == Monotonic::max()) return;
  const std::optional<Monotonic> next =
      time_.want(std::min(timers_.next(), now_ + kBeatOfClient));
  if (!next) return;
  next_run_ = *next;
  if (poller_ != nullptr) poller_->set_timer(*next);
}

void ClientLoop::hand_back(Tasks tasks) {
  if (!tasks.empty()) finished_(tasks);
}

// The epoll instance is shared with the parent.  The client is locked.
void ClientLoop::after_fork_in_child() {
  started_.clear();
  starting_.clear();
  answered_ = answering_ = {};
  time_ = {};
  jobs_.clear();
  free_.clear();
  done_.clear();
  commands_.clear();
  under_way_ = 0;
  next_run_ = Monotonic::max();
  must_run_ = false;
  poller_.reset();
  run_mutex_.unlock();
}

}  // namespace limitree::remote
