#include "io/loop.hpp"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <utility>

#include "io/failure.hpp"
#include "io/trouble.hpp"

namespace limitree {

namespace {

// So much small work can be posted without memory for it, such as the end.
constexpr std::size_t kRoom = 16;

// Rounded up, so that no timer is looked at too early.
int milliseconds_until(Monotonic at, Monotonic now) {
  if (at == Monotonic::max()) return -1;
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(at - now);
  return static_cast<int>(std::clamp<std::int64_t>(wait.count(), 0, INT_MAX));
}

}  // namespace

Loop::Loop()
    : epoll_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      now_(steady_now()) {
  if (!epoll_ || !wake_) throw Failure("event loop", errno);
  posted_.reserve(kRoom);
  running_.reserve(kRoom);
  add(wake_.get(), EPOLLIN, nullptr);
}

void Loop::add(int fd, std::uint32_t events, Watcher* watcher) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = watcher;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    throw Failure("event loop", errno);
  }
}

void Loop::change(int fd, std::uint32_t events, Watcher* watcher) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = watcher;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) != 0) {
    throw Failure("event loop", errno);
  }
}

void Loop::remove(int fd, Watcher* watcher) {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  // Events that this turn has still to handle.
  for (int i = 0; i < ready_count_; ++i) {
    epoll_event& event = ready_[static_cast<std::size_t>(i)];
    if (event.data.ptr == watcher) event.events = 0;
  }
}

void Loop::at_turn_end(AtTurnEnd* work) {
  if (work->place_ != AtTurnEnd::kNowhere) return;
  ending_.push_back(work);
  work->place_ = ending_.size() - 1;
}

Monotonic Loop::turn_end() {
  if (!turn_end_) turn_end_ = steady_now();
  return *turn_end_;
}

void Loop::forget(AtTurnEnd* work) {
  if (work->place_ == AtTurnEnd::kNowhere) return;
  ending_[std::exchange(work->place_, AtTurnEnd::kNowhere)] = nullptr;
}

void Loop::post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(work));
  }
  const std::uint64_t one = 1;
  // It fails only if the counter is full, and then the loop wakes up anyway.
  [[maybe_unused]] const auto written = write(wake_.get(), &one, sizeof one);
}

void Loop::stop() {
  post([this] { stopped_ = true; });
}

void Loop::run() {
  stopped_ = false;
  while (!stopped_) turn();
}

void Loop::turn() {
  wait();
  for (int i = 0; i < ready_count_; ++i) {
    const epoll_event& event = ready_[static_cast<std::size_t>(i)];
    if (event.data.ptr == nullptr) {
      run_posted();
    } else if (event.events != 0) {
      guarded([&] {
        static_cast<Watcher*>(event.data.ptr)->on_ready(event.events);
      });
    }
  }
  ready_count_ = 0;
  guarded([this] { take_due(now_); });
  for (bool more = true; more;) {
    guarded([&] { more = run_due(); });
  }
  finish_turn();
}

void Loop::wait() {
  const int wait_ms = milliseconds_until(next(), turn_end());
  ready_count_ =
      std::max(0, epoll_wait(epoll_.get(), ready_.data(),
                             static_cast<int>(ready_.size()), wait_ms));
  now_ = steady_now();
  turn_end_.reset();
}

void Loop::finish_turn() {
  // Work may ask for more work of the same turn.
  for (std::size_t i = 0; i < ending_.size(); ++i) {
    AtTurnEnd* const work = std::exchange(ending_[i], nullptr);
    if (work == nullptr) continue;
    work->place_ = AtTurnEnd::kNowhere;
    guarded([work] { work->on_turn_end(); });
  }
  ending_.clear();
}

void Loop::run_posted() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = read(wake_.get(), &count, sizeof count);
  {
    const std::lock_guard lock(mutex_);
    running_.swap(posted_);
  }
  for (const std::function<void()>& work : running_) guarded(work);
  running_.clear();
}

}  // namespace limitree
