#include "io/srv.hpp"

#include <utility>

namespace limitree {

SrvServers::SrvServers(std::string name, Duration refresh, Listener listener)
    : name_(std::move(name)),
      refresh_(refresh),
      listener_(std::move(listener)) {}

void SrvServers::look_now(Monotonic now) {
  const std::lock_guard lock(mutex_);
  if (asked_ != nullptr && asked_->done()) next_ = take_answer(now);
  if (asked_ == nullptr && now >= next_) {
    auto lookup = std::make_shared<SrvLookup>(name_);
    detail_ = Lookup::start(lookup);
    if (detail_.empty()) {
      asked_ = std::move(lookup);
    } else {
      next_ = after(now, kRetryTime);
    }
  }
  const Monotonic at = asked_ != nullptr ? Monotonic::min() : next_;
  look_at_.store(at.time_since_epoch().count());
}

// Returns when to ask again.
Monotonic SrvServers::take_answer(Monotonic now) {
  const std::shared_ptr<SrvLookup> done = std::exchange(asked_, nullptr);
  detail_ = done->detail();
  if (!detail_.empty()) return after(now, kRetryTime);
  SrvList& found = done->list();
  if (servers_ != found.servers) {
    listener_(found.servers);
    servers_ = std::move(found.servers);  // if it did not throw
  }
  return after(now,
               refresh_ > Duration::zero()
                   ? refresh_
                   : std::clamp(found.time_to_live, kLeastTime, kMostTime));
}

std::shared_ptr<Lookup> SrvServers::asked() {
  const std::lock_guard lock(mutex_);
  return asked_;
}

std::string SrvServers::detail() {
  const std::lock_guard lock(mutex_);
  return detail_;
}

void SrvServers::after_fork_in_child() {
  if (asked_ != nullptr) {
    asked_->abandon_after_fork();
    asked_ = nullptr;
    next_ = Monotonic::min();
  }
  mutex_.unlock();
}

}  // namespace limitree
