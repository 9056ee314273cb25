// Poller on macOS and the BSDs.

#if !defined(__linux__)

#include <fcntl.h>
#include <sys/event.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <utility>

#include "io/poller.hpp"

namespace limitree {

namespace {

constexpr std::uintptr_t kWake = 1;   // of EVFILT_USER
constexpr std::uintptr_t kTimer = 2;  // of EVFILT_TIMER

bool apply(int poller, std::uintptr_t ident, int filter, unsigned flags,
           void* owner = nullptr, unsigned fflags = 0, std::int64_t data = 0) {
  struct kevent event {};
  event.ident = ident;
  event.filter = static_cast<decltype(event.filter)>(filter);
  event.flags = static_cast<decltype(event.flags)>(flags);
  event.fflags = fflags;
  event.data = static_cast<decltype(event.data)>(data);
  event.udata = owner;
  return kevent(poller, &event, 1, nullptr, 0, nullptr) == 0;
}

}  // namespace

Poller::Poller() : poller_(kqueue()) {
  if (fd() == -1) return;
  fcntl(fd(), F_SETFD, FD_CLOEXEC);
  if (!apply(fd(), kWake, EVFILT_USER, EV_ADD | EV_CLEAR)) poller_.reset();
}

bool Poller::add(int fd, std::uint32_t events, void* owner) {
  return change(fd, events, owner);
}

bool Poller::change(int fd, std::uint32_t events, void* owner) {
  bool done = true;
  for (const auto& [event, filter] :
       {std::pair{kRead, EVFILT_READ}, std::pair{kWrite, EVFILT_WRITE}}) {
    const bool wanted = (events & event) != 0;
    // There may be none to delete.
    done &= apply(poller_.get(), static_cast<std::uintptr_t>(fd), filter,
                  wanted ? EV_ADD : EV_DELETE, owner) ||
            !wanted;
  }
  return done;
}

bool Poller::watch(int fd, std::uint32_t events, void* owner) {
  return change(fd, events, owner);
}

void Poller::remove(int fd) { change(fd, 0, nullptr); }

void Poller::wake() {
  apply(fd(), kWake, EVFILT_USER, 0, nullptr, NOTE_TRIGGER);
}

// In milliseconds, which every system has, rounded up.
void Poller::set_timer(Monotonic at) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(at - steady_now());
  apply(fd(), kTimer, EVFILT_TIMER, EV_ADD | EV_ONESHOT, nullptr, 0,
        std::max<std::int64_t>(left.count(), 0));
}

std::size_t Poller::poll(std::span<Ready> ready, int wait_ms) {
  std::array<struct kevent, 64> events;
  const auto room = static_cast<int>(std::min(ready.size(), events.size()));
  const timespec wait{wait_ms / 1000, wait_ms % 1000 * 1'000'000L};
  const int count = kevent(fd(), nullptr, 0, events.data(), room,
                           wait_ms < 0 ? nullptr : &wait);
  for (int i = 0; i < count; ++i) {
    const struct kevent& event = events[static_cast<std::size_t>(i)];
    ready[static_cast<std::size_t>(i)] = {
        event.udata, event.filter == EVFILT_WRITE ? kWrite : kRead};
  }
  return static_cast<std::size_t>(std::max(count, 0));
}

}  // namespace limitree

#endif
