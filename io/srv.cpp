#include "io/srv.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/digits.hpp"

namespace limitree {

bool is_dns_name(std::string_view text) {
  constexpr std::size_t kMaxName = 253;
  return !text.empty() && text.size() <= kMaxName &&
         std::ranges::all_of(text, [](char one) {
           return is_letter(one) || is_digit(one) || one == '-' || one == '_' ||
                  one == '.';
         });
}

bool is_srv_name(std::string_view name) {
  if (!is_dns_name(name) || !name.starts_with('_')) return false;
  const std::size_t protocol = name.find("._");
  if (protocol == name.npos || protocol < 2) return false;
  const std::size_t domain = name.find('.', protocol + 1);
  return domain != name.npos && domain > protocol + 2 &&
         domain + 1 < name.size();
}

// ---- SrvServers -------------------------------------------------------------

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
