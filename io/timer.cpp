#include "io/timer.hpp"

#include <utility>

namespace limitree {

Timer::Timer(Timers* timers, std::function<void()> on_time)
    : timers_(timers), on_time_(std::move(on_time)) {
  timers_->make_room();
}

Timer::~Timer() {
  cancel();
  --timers_->count_;
}

void Timer::set(Monotonic at) {
  cancel();
  at_ = at;
  if (at != Monotonic::max()) timers_->insert(this);
}

void Timer::cancel() { timers_->remove(this); }

bool Timers::is_before(const Timer* one, const Timer* other) {
  return one->at_ != other->at_ ? one->at_ < other->at_
                                : one->turn_ < other->turn_;
}

void Timers::make_room() {
  if (count_ == heap_.capacity()) heap_.reserve(2 * count_ + 1);
  ++count_;
}

void Timers::put(Timer* timer, std::size_t place) {
  heap_[place] = timer;
  timer->place_ = place;
}

void Timers::rise(Timer* timer, std::size_t place) {
  while (place > 0) {
    const std::size_t above = (place - 1) / 2;
    if (is_before(heap_[above], timer)) break;
    put(heap_[above], place);
    place = above;
  }
  put(timer, place);
}

void Timers::sink(Timer* timer, std::size_t place) {
  for (std::size_t below; (below = 2 * place + 1) < heap_.size();) {
    if (below + 1 < heap_.size() && is_before(heap_[below + 1], heap_[below])) {
      ++below;
    }
    if (is_before(timer, heap_[below])) break;
    put(heap_[below], place);
    place = below;
  }
  put(timer, place);
}

void Timers::insert(Timer* timer) {
  timer->turn_ = ++turns_;
  heap_.push_back(timer);
  rise(timer, heap_.size() - 1);
}

void Timers::remove(Timer* timer) {
  if (timer->due_ != Timer::kNowhere) {
    due_[std::exchange(timer->due_, Timer::kNowhere)] = nullptr;
    return;
  }
  const std::size_t place = timer->place_;
  if (place == Timer::kNowhere) return;
  timer->place_ = Timer::kNowhere;
  Timer* const last = heap_.back();
  heap_.pop_back();
  if (last == timer) return;
  if (place > 0 && is_before(last, heap_[(place - 1) / 2])) {
    rise(last, place);
  } else {
    sink(last, place);
  }
}

void Timers::take_due(Monotonic now) {
  while (due_.size() < kMaxDue && !heap_.empty() && heap_[0]->at_ <= now) {
    Timer* const timer = heap_[0];
    due_.push_back(timer);
    remove(timer);
    timer->due_ = due_.size() - 1;
  }
}

bool Timers::run_due() {
  while (called_ < due_.size()) {
    Timer* const timer = due_[called_++];
    if (timer == nullptr) continue;
    timer->due_ = Timer::kNowhere;
    timer->on_time_();
    return true;
  }
  due_.clear();
  called_ = 0;
  return false;
}

}  // namespace limitree
