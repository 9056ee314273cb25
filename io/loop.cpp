#include "io/loop.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <utility>

#include "io/failure.hpp"
#include "io/trouble.hpp"

namespace limitree {

namespace {

// Room for this many posts, such as that of the end, when no memory is left.
constexpr std::size_t kRoom = 16;

// Where the machine is virtual, sleeping and being woken takes 25 us of
// processor time, so that looks of this length cost less than sleep as long as
// most of them find something.
constexpr Duration kLongestLook = 20 * kMicrosecond;

// Rounded up, so that no timer is looked at too early.
int milliseconds_until(Monotonic at, Monotonic now) {
  if (at == Monotonic::max()) return -1;
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(at - now);
  return static_cast<int>(std::clamp<std::int64_t>(wait.count(), 0, INT_MAX));
}

}  // namespace

Loop::Loop(LowLatency low_latency)
    : look_(low_latency, kLongestLook), now_(steady_now()) {
  if (poller_.fd() == -1) throw Failure("event loop", errno);
  posted_.reserve(kRoom);
  running_.reserve(kRoom);
}

void Loop::add(int fd, std::uint32_t events, Watcher* watcher) {
  if (!poller_.add(fd, events, watcher)) throw Failure("event loop", errno);
}

void Loop::change(int fd, std::uint32_t events, Watcher* watcher) {
  if (!poller_.change(fd, events, watcher)) throw Failure("event loop", errno);
}

void Loop::remove(int fd, Watcher* watcher) {
  poller_.remove(fd);
  // Events that this turn still has to handle.
  for (std::size_t i = 0; i < ready_count_; ++i) {
    if (ready_[i].owner == watcher) ready_[i].events = 0;
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
  poller_.wake();
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
  for (std::size_t i = 0; i < ready_count_; ++i) {
    const Poller::Ready one = ready_[i];
    if (one.owner == nullptr) {
      run_posted();
    } else if (one.events != 0) {
      guarded([&] { static_cast<Watcher*>(one.owner)->on_ready(one.events); });
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
  look();
  if (ready_count_ == 0) {
    ready_count_ = poller_.poll(ready_, milliseconds_until(next(), turn_end()));
    now_ = steady_now();
  }
  busy_ = ready_count_ > 0;
  turn_end_.reset();
}

// After events others may follow: the next request of a client, or an answer of
// the store.
void Loop::look() {
  if (!busy_ || !look_.begin(turn_end())) return;
  do {
    ready_count_ = poller_.poll(ready_, 0);
    now_ = steady_now();
    if (ready_count_ > 0) return look_.found(now_);
    turn_end_ = now_;
  } while (now_ < next() && look_.found_nothing(now_));
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
  {
    const std::lock_guard lock(mutex_);
    running_.swap(posted_);
  }
  for (const std::function<void()>& work : running_) guarded(work);
  running_.clear();
}

}  // namespace limitree
