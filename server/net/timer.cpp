#include "net/timer.hpp"

#include <algorithm>

namespace limitree::server {

void Timer::set(Instant at) {
  cancel();
  if (at != kNever) timers_->insert(this, at);
}

void Timer::cancel() { timers_->remove(this); }

void Timers::put(Timer* timer, std::size_t place) {
  heap_[place] = timer;
  timer->place_ = place;
}

void Timers::rise(Timer* timer, std::size_t place) {
  while (place > 0) {
    const std::size_t above = (place - 1) / 2;
    if (heap_[above]->at_ <= timer->at_) break;
    put(heap_[above], place);
    place = above;
  }
  put(timer, place);
}

void Timers::sink(Timer* timer, std::size_t place) {
  for (std::size_t below; (below = 2 * place + 1) < heap_.size();) {
    if (below + 1 < heap_.size() && heap_[below + 1]->at_ < heap_[below]->at_) {
      ++below;
    }
    if (timer->at_ <= heap_[below]->at_) break;
    put(heap_[below], place);
    place = below;
  }
  put(timer, place);
}

void Timers::insert(Timer* timer, Instant at) {
  timer->at_ = at;
  heap_.push_back(timer);
  rise(timer, heap_.size() - 1);
}

void Timers::remove(Timer* timer) {
  const std::size_t place = timer->place_;
  if (place == Timer::kNowhere) {
    std::replace(due_.begin(), due_.end(), timer, static_cast<Timer*>(nullptr));
    return;
  }
  timer->place_ = Timer::kNowhere;
  Timer* const last = heap_.back();
  heap_.pop_back();
  if (last == timer) return;
  if (place > 0 && heap_[(place - 1) / 2]->at_ > last->at_) {
    rise(last, place);
  } else {
    sink(last, place);
  }
}

void Timers::run(Instant now) {
  while (next() <= now) {
    due_.push_back(heap_[0]);
    Timer* const timer = heap_[0];
    timer->place_ = Timer::kNowhere;
    Timer* const last = heap_.back();
    heap_.pop_back();
    if (last != timer) sink(last, 0);
  }
  for (std::size_t i = 0; i < due_.size(); ++i) {
    if (due_[i] != nullptr) std::exchange(due_[i], nullptr)->on_time_();
  }
  due_.clear();
}

}  // namespace limitree::server
