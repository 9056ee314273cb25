#include "store/remote/drivers/loop.hpp"

#include <algorithm>
#include <array>

namespace limitree::remote {

Loop::Loop(Router* router, const Settings& settings, Finished finished)
    : router_(router), settings_(settings), finished_(std::move(finished)) {
  watch_forks();
}

Loop::~Loop() {
  unwatch_forks();
  close();
}

int Loop::fd() {
  const std::lock_guard lock(start_mutex_);
  return fd_locked();
}

// If it could not be made, the next call tries again.
int Loop::fd_locked() {
  if (closed_) return -1;
  if (poller_ == nullptr || poller_->fd() == -1) {
    poller_ = std::make_unique<Poller>();
  }
  return poller_->fd();
}

void Loop::start(std::span<std::unique_ptr<AsyncTask>> tasks, Duration time) {
  {
    const std::lock_guard lock(start_mutex_);
    if (fd_locked() != -1) {
      const std::size_t count = started_.size() + tasks.size();
      if (count > started_.capacity()) started_.reserve(2 * count);
      for (std::unique_ptr<AsyncTask>& task : tasks) {
        started_.push_back({std::move(task), std::min(time, time_limit_)});
      }
      wake_locked();
      return;
    }
    for (const std::unique_ptr<AsyncTask>& task : tasks) {
      task->status = closed_ ? Status::limiter_is_closed()
                             : Status(Code::kStoreUnavailable,
                                      "no descriptor left for the event loop");
    }
  }
  hand_back(tasks);
}

void Loop::set_wakeups(bool on) {
  const std::lock_guard lock(start_mutex_);
  wakes_ = on;
  if (!started_.empty()) wake_locked();
}

void Loop::set_time_limit(Duration limit) {
  const std::lock_guard lock(start_mutex_);
  time_limit_ = limit;
}

void Loop::wake_locked() {
  if (wakes_ && !std::exchange(woken_, true)) poller_->wake();
}

void Loop::run() {
  EventDriver::Tasks finished = std::move(spare_finished_);
  turn(&finished, true);
  // Only once, so that the host gets its turn.
  if (hand_back_with_room(finished)) {
    finished.clear();
    turn(&finished, false);
    hand_back(finished);
  }
  finished.clear();
  spare_finished_ = std::move(finished);
}

// Who gets an answer often asks again.  That is sent in the same run: to wake
// the host for it would take a write, and another poll.  Returns whether
// anything was started.
bool Loop::hand_back_with_room(std::span<std::unique_ptr<AsyncTask>> tasks) {
  if (tasks.empty()) return false;
  {
    const std::lock_guard lock(start_mutex_);
    if (wakes_) woken_ = true;
  }
  try {
    hand_back(tasks);
  } catch (...) {
    const std::lock_guard lock(start_mutex_);
    woken_ = false;
    if (!started_.empty()) wake_locked();
    throw;
  }
  const std::lock_guard lock(start_mutex_);
  woken_ = wakes_ && !started_.empty();
  return woken_;
}

void Loop::turn(EventDriver::Tasks* finished, bool reads) {
  const std::lock_guard run_lock(run_mutex_);
  {
    const std::lock_guard lock(start_mutex_);
    if (poller_ == nullptr || poller_->fd() == -1) return;
  }
  if (driver_ == nullptr) {
    driver_ = std::make_unique<EventDriver>(router_, settings_, poller_.get());
  }
  try {
    // Clears the wake-up before it takes the tasks that caused it.
    driver_->read(reads);
    take();
    driver_->work(finished);
  } catch (...) {
    const std::lock_guard lock(start_mutex_);
    woken_ = true;
    poller_->wake();  // the next run does the rest
    throw;
  }
}

// Adds what was started to the driver.
void Loop::take() {
  if (added_ == taken_.size()) {
    taken_.clear();
    added_ = 0;
    const std::lock_guard lock(start_mutex_);
    taken_.swap(started_);
    woken_ = false;
  } else {
    const std::lock_guard lock(start_mutex_);
    poller_->wake();  // the next run takes what was started since
  }
  while (added_ < taken_.size()) {
    Started& one = taken_[added_];
    try {
      driver_->add(&one.task, one.time);
    } catch (...) {
      if (one.task == nullptr) ++added_;
      throw;
    }
    ++added_;
  }
}

// There may be no memory left, and nobody who could be told.
void Loop::close() {
  EventDriver::Tasks tasks;
  std::array<std::vector<Started>, 2> waiting;
  {
    const std::lock_guard run_lock(run_mutex_);
    const std::lock_guard lock(start_mutex_);
    closed_ = true;
    if (driver_ != nullptr) tasks = driver_->cancel_all();
    added_ = 0;
    waiting = {std::move(taken_), std::move(started_)};
    driver_.reset();
    poller_.reset();
  }
  hand_back(tasks);
  for (std::vector<Started>& all : waiting) {
    for (Started& one : all) {
      if (one.task == nullptr) continue;
      one.task->status = Status::limiter_is_closed();
      hand_back({&one.task, 1});
    }
  }
}

void Loop::hand_back(std::span<std::unique_ptr<AsyncTask>> tasks) {
  if (!tasks.empty()) finished_(tasks);
}

void Loop::before_fork() {
  run_mutex_.lock();
  start_mutex_.lock();
}

void Loop::after_fork() {
  start_mutex_.unlock();
  run_mutex_.unlock();
}

// The epoll instance is shared with the parent, and must not learn that the
// child closes its copies of the descriptors.
void Loop::after_fork_in_child() {
  if (driver_ != nullptr) driver_->abandon_after_fork();
  driver_.reset();
  poller_.reset();
  started_.clear();
  taken_.clear();
  added_ = 0;
  woken_ = false;
  start_mutex_.unlock();
  run_mutex_.unlock();
}

}  // namespace limitree::remote
