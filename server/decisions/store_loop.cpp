#include "decisions/store_loop.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <exception>
#include <span>
#include <utility>

#include "io/failure.hpp"
#include "io/trouble.hpp"

namespace limitree::server {

namespace {

// Requests whose clients are gone count, too.
constexpr std::size_t kMaxWaiting = 50'000;
constexpr std::size_t kBytesOfOne = 1024;

// No exception may pass through the library.
void fail(PendingRequest* request, const char* why) noexcept {
  try {
    request->fail();
    tell_trouble("a request cannot be answered", why);
  } catch (...) {
    // There is no memory: the deadline of the client ends the call.
  }
}

// The answer needs a part of the client's time to reach it: a tenth, but no
// more than this.
constexpr Duration kLongestMargin = 10 * kMillisecond;

// An attempt with less time than this says nothing about the store.
constexpr Duration kShortestTimeout = kMillisecond;

// The timeout for the library, where 0 stands for the option `timeout`.
Duration timeout_of(Duration time_left) {
  if (time_left == kNever) return Duration::zero();
  const Duration margin = std::min(time_left / 10, kLongestMargin);
  return std::max(time_left - margin, kShortestTimeout);
}

}  // namespace

PendingRequest::PendingRequest(StoreLoop* loop, Duration time_left,
                               std::size_t bytes)
    : count_(loop->count_), weight_(1 + bytes / kBytesOfOne) {
  loop->set_timeout(timeout_of(time_left));
  *count_ += weight_;
}

PendingRequest::~PendingRequest() { *count_ -= weight_; }

StoreLoop::StoreLoop(Loop* loop, limitree_limiter* limiter)
    : loop_(loop), limiter_(limiter), fd_(limitree_loop_fd(limiter)) {
  if (fd_ < 0) {
    // Without it the decisions of this worker would block its other clients.
    if (limitree_limiter_is_shared(limiter) != 0) {
      throw Failure("cannot wait for the store: no file descriptor is free");
    }
    return;
  }
  limitree_loop_set_wakeups(limiter_, 0);
  loop_->add(fd_, EPOLLIN, this);
}

StoreLoop::~StoreLoop() {
  if (fd_ >= 0) loop_->remove(fd_, this);
  loop_->forget(this);
}

bool StoreLoop::is_full() const { return *count_ >= kMaxWaiting; }

void StoreLoop::set_timeout(Duration timeout) {
  if (std::exchange(timeout_, timeout) == timeout) return;
  limitree_loop_set_timeout(limiter_, timeout.count());
}

void StoreLoop::started(std::unique_ptr<PendingRequest> request) {
  static_cast<void>(request.release());  // complete_requests() takes it
  loop_->at_turn_end(this);
}

void StoreLoop::on_ready(std::uint32_t /*events*/) {
  limitree_loop_run(limiter_);
}

void StoreLoop::on_turn_end() { limitree_loop_run(limiter_); }

LimiterHandle new_loop(limitree_limiter* limiter) {
  limitree_limiter* other = nullptr;
  check(limitree_limiter_new_loop, limiter, nullptr, &other);
  return LimiterHandle(other);
}

void complete_requests(const limitree_completion* completions,
                       std::size_t count, void* /*user_data*/) {
  for (const limitree_completion& completion : std::span(completions, count)) {
    const std::unique_ptr<PendingRequest> request(
        static_cast<PendingRequest*>(completion.request));
    try {
      request->complete(completion);
    } catch (const std::exception& error) {
      fail(request.get(), error.what());
    } catch (...) {
      fail(request.get(), "an unknown error");
    }
  }
}

}  // namespace limitree::server
