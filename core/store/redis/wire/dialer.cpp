#include "store/redis/wire/dialer.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

namespace limitree::redis {

namespace {

// Which of several addresses is tried first.  One that never answers uses up
// all the time there is; so when an attempt is given up, the next one begins
// with another.  It is for the process: to remember more would be to remember
// addresses.
std::atomic<std::size_t> first_address{0};

}  // namespace

Dialer::Dialer(const Endpoint& endpoint) : resolver_(std::in_place, endpoint) {
  resolve();
}

Dialer::~Dialer() {
  if (state_ == State::kConnecting) {
    first_address.store(first_ + tried_, std::memory_order_relaxed);
  }
  close_socket();
}

int Dialer::fd() const {
  return state_ == State::kResolving ? resolver_->fd() : socket_;
}

void Dialer::run() {
  if (state_ == State::kResolving) {
    resolve();
  } else if (state_ == State::kConnecting) {
    check();
  }
}

int Dialer::take_socket() {
  return state_ == State::kConnected ? std::exchange(socket_, -1) : -1;
}

void Dialer::resolve() {
  if (!resolver_->done()) return;
  addresses_ = resolver_->addresses();
  if (addresses_.empty()) {
    fail(Failure::kResolve, resolver_->detail());
    return;
  }
  resolver_.reset();
  first_ = first_address.load(std::memory_order_relaxed);
  try_next(0);
}

void Dialer::check() {
  const int error = connect_result(socket_);
  if (error == EINPROGRESS) return;
  if (error == 0) {
    state_ = State::kConnected;
    return;
  }
  close_socket();
  try_next(error);
}

// Starts with the next address that does not fail at once; `error` is what
// became of the one before.
void Dialer::try_next(int error) {
  while (tried_ < addresses_.size()) {
    const SocketAddress& address =
        addresses_[(first_ + tried_++) % addresses_.size()];
    socket_ = start_connecting(address);
    if (socket_ >= 0) {
      // A Unix socket is connected by now.
      state_ = address.bytes.ss_family == AF_UNIX ? State::kConnected
                                                  : State::kConnecting;
      return;
    }
    error = errno;
  }
  fail(Failure::kRefused, error_text(error));
}

void Dialer::fail(Failure failure, std::string detail) {
  state_ = State::kFailed;
  failure_ = failure;
  detail_ = std::move(detail);
}

void Dialer::close_socket() {
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
}

void Dialer::abandon_after_fork() {
  if (resolver_.has_value()) resolver_->abandon_after_fork();
  close_socket();
  fail(Failure::kCancelled, "the attempt is the parent's");
}

}  // namespace limitree::redis
