// Poller on Linux.

#if defined(__linux__)

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "io/poller.hpp"

namespace limitree {

namespace {

static_assert(Poller::kRead == EPOLLIN && Poller::kWrite == EPOLLOUT);

bool control(int poller, int operation, int fd, std::uint32_t events,
             void* owner) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = owner;
  return epoll_ctl(poller, operation, fd, &event) == 0;
}

}  // namespace

// Wake-up and timer are edge-triggered: an event is over when it has been
// reported, and their counters need never be read.
Poller::Poller()
    : poller_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  // add() would hide why a descriptor could not be made.
  if (!poller_ || !wake_ || !timer_ ||
      !add(wake_.get(), EPOLLIN | EPOLLET, nullptr) ||
      !add(timer_.get(), EPOLLIN | EPOLLET, nullptr)) {
    const int error = errno;
    poller_.reset();
    errno = error;
  }
}

bool Poller::add(int fd, std::uint32_t events, void* owner) {
  return control(poller_.get(), EPOLL_CTL_ADD, fd, events, owner);
}

bool Poller::change(int fd, std::uint32_t events, void* owner) {
  return control(poller_.get(), EPOLL_CTL_MOD, fd, events, owner);
}

bool Poller::watch(int fd, std::uint32_t events, void* owner) {
  return change(fd, events, owner) ||
         (errno == ENOENT && add(fd, events, owner));
}

void Poller::remove(int fd) {
  epoll_ctl(poller_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void Poller::wake() {
  const std::uint64_t one = 1;
  // It cannot fail: a counter that is never read would have to be full.
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof one);
}

void Poller::set_timer(Monotonic at) {
  const std::int64_t ns = std::max<std::int64_t>(at.time_since_epoch().count(),
                                                 1);  // 0 would disarm it
  itimerspec time{};
  time.it_value.tv_sec = static_cast<time_t>(ns / 1'000'000'000);
  time.it_value.tv_nsec = static_cast<long>(ns % 1'000'000'000);
  timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &time, nullptr);
}

std::size_t Poller::poll(std::span<Ready> ready, int wait_ms) {
  std::array<epoll_event, 256> events;
  const auto room = static_cast<int>(std::min(ready.size(), events.size()));
  const int count = epoll_wait(fd(), events.data(), room, wait_ms);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    ready[static_cast<std::size_t>(i)] = {event.data.ptr, event.events};
  }
  return static_cast<std::size_t>(std::max(count, 0));
}

}  // namespace limitree

#endif
