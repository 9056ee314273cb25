#include "store/shared/shared_loop.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#ifdef __linux__
#include <sys/timerfd.h>
#endif

namespace limitree {

namespace {

// How many attempts of one run may fail; each takes a microsecond or two.
constexpr int kMostFailures = 64;

#ifdef __linux__

int new_timer() {
  return timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
}

// A running owner holds a lock for less than this.
void start(int timer) {
  const itimerspec once = {{0, 0}, {0, 500'000}};
  timerfd_settime(timer, 0, &once, nullptr);
}

#else  // no file is opened there: see has_record_locks()

int new_timer() { return -1; }
void start(int /*timer*/) {}

#endif

Duration steady_time() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

}  // namespace

SharedLoop::~SharedLoop() {
  unwatch_forks();
  put_back();
  while (take_first()) {
    Pending* const pending = tried_.front().pending;
    tried_.clear();
    pending->complete(Status::limiter_is_closed());
  }
  if (timer_ >= 0) close(timer_);
}

// The parent answers what is pending.
void SharedLoop::after_fork_in_child() {
  waiting_.clear();
  tried_.clear();
  if (timer_ >= 0) close(std::exchange(timer_, -1));
  mutex_.unlock();
}

int SharedLoop::fd() {
  const std::lock_guard lock(mutex_);
  if (timer_ < 0) timer_ = new_timer();
  return timer_;
}

void SharedLoop::set_time_limit(Duration limit) {
  const std::lock_guard lock(mutex_);
  time_limit_ = limit;
}

void SharedLoop::add(Pending* pending) {
  const std::lock_guard lock(mutex_);
  const Duration now = steady_time();
  const Duration longest = Duration::max() - now;
  waiting_.push_back({pending, now + std::min(time_limit_, longest)});
  pending->plan().waits_since = now;
  if (waiting_.size() == 1) start(timer_);
}

bool SharedLoop::take_first() {
  const std::lock_guard lock(mutex_);
  if (!waiting_.empty()) {
    tried_.splice(tried_.begin(), waiting_, waiting_.begin());
  }
  return !tried_.empty();
}

void SharedLoop::put_back() {
  const std::lock_guard lock(mutex_);
  waiting_.splice(waiting_.end(), tried_);
}

// A request that has to wait longer goes to the end, so that each has its turn.
void SharedLoop::run() {
  std::size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    std::uint64_t ended = 0;
    if (timer_ < 0 || read(timer_, &ended, sizeof ended) < 0) return;
    waiting_.splice(waiting_.begin(), tried_);  // of a run without memory
    count = waiting_.size();
    if (count > 0) start(timer_);
  }
  const Duration now = steady_time();
  int failures = 0;
  for (; count > 0 && failures < kMostFailures && take_first(); --count) {
    const auto [pending, end] = tried_.front();
    Status status;
    if (!attempt_(pending, now >= end, &status)) {
      ++failures;
      put_back();
      continue;
    }
    {
      const std::lock_guard lock(mutex_);
      tried_.clear();
    }
    pending->complete(std::move(status));
  }
}

}  // namespace limitree
