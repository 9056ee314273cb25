// Poller on macOS and the BSDs.

#if !defined(__linux__)

#include <fcntl.h>
#include <sys/event.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "store/redis/drivers/poller.hpp"

namespace limitree::redis {

namespace {

constexpr std::uintptr_t kWake = 1;   // of EVFILT_USER
constexpr std::uintptr_t kTimer = 2;  // of EVFILT_TIMER

struct kevent change(std::uintptr_t ident, int filter, unsigned flags) {
  struct kevent event {};
  event.ident = ident;
  event.filter = static_cast<decltype(event.filter)>(filter);
  event.flags = static_cast<decltype(event.flags)>(flags);
  return event;
}

bool apply(int kqueue, struct kevent event) {
  return kevent(kqueue, &event, 1, nullptr, 0, nullptr) == 0;
}

}  // namespace

Poller::Poller() : fd_(kqueue()) {
  if (fd_ == -1) return;
  fcntl(fd_, F_SETFD, FD_CLOEXEC);
  if (apply(fd_, change(kWake, EVFILT_USER, EV_ADD | EV_CLEAR))) return;
  ::close(fd_);
  fd_ = -1;
}

Poller::~Poller() {
  if (fd_ != -1) ::close(fd_);
}

bool Poller::watch(int fd, bool write, void* owner) {
  const auto ident = static_cast<std::uintptr_t>(fd);
  struct kevent reads = change(ident, EVFILT_READ, EV_ADD);
  reads.udata = owner;
  struct kevent writes = change(ident, EVFILT_WRITE, EV_ADD);
  writes.udata = owner;
  if (!apply(fd_, reads)) return false;
  if (write) return apply(fd_, writes);
  writes.flags = EV_DELETE;
  apply(fd_, writes);  // there may be none
  return true;
}

void Poller::wake() {
  struct kevent event = change(kWake, EVFILT_USER, 0);
  event.fflags = NOTE_TRIGGER;
  apply(fd_, event);
}

// In milliseconds, which every system has, rounded up.
void Poller::set_timer(Monotonic at) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(
      at - std::chrono::steady_clock::now());
  struct kevent event = change(kTimer, EVFILT_TIMER, EV_ADD | EV_ONESHOT);
  event.data = std::max<std::int64_t>(left.count(), 0);
  apply(fd_, event);
}

std::size_t Poller::poll(std::span<void*> owners) {
  std::array<struct kevent, 64> events;
  const auto room = static_cast<int>(std::min(owners.size(), events.size()));
  const timespec at_once{};
  const int count = kevent(fd_, nullptr, 0, events.data(), room, &at_once);
  std::size_t ready = 0;
  for (int i = 0; i < count; ++i) {
    const struct kevent& event = events[static_cast<std::size_t>(i)];
    if (event.filter == EVFILT_USER || event.filter == EVFILT_TIMER) continue;
    owners[ready++] = event.udata;
  }
  return ready;
}

}  // namespace limitree::redis

#endif
