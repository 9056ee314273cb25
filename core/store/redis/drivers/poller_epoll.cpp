// Poller on Linux.

#if defined(__linux__)

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

#include "store/redis/drivers/poller.hpp"

namespace limitree::redis {

namespace {

// Wake-up and timer are edge-triggered: an event is over when it has been told,
// and their counters need never be read.
bool add_edge(int epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.ptr = nullptr;
  return fd != -1 && epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

void close_if_open(int* fd) {
  if (*fd != -1) ::close(*fd);
  *fd = -1;
}

}  // namespace

Poller::Poller()
    : fd_(epoll_create1(EPOLL_CLOEXEC)),
      wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      timer_fd_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (fd_ != -1 && add_edge(fd_, wake_fd_) && add_edge(fd_, timer_fd_)) return;
  close_if_open(&fd_);
}

Poller::~Poller() {
  close_if_open(&timer_fd_);
  close_if_open(&wake_fd_);
  close_if_open(&fd_);
}

// A descriptor of the same number may be another one by now, which epoll does
// not know.
bool Poller::watch(int fd, bool write, void* owner) {
  epoll_event event{};
  event.events = EPOLLIN;
  if (write) event.events |= EPOLLOUT;
  event.data.ptr = owner;
  if (epoll_ctl(fd_, EPOLL_CTL_MOD, fd, &event) == 0) return true;
  return errno == ENOENT && epoll_ctl(fd_, EPOLL_CTL_ADD, fd, &event) == 0;
}

void Poller::wake() {
  const std::uint64_t one = 1;
  // It cannot fail: a counter that is never read would have to be full.
  [[maybe_unused]] const ssize_t written = ::write(wake_fd_, &one, sizeof one);
}

void Poller::set_timer(Monotonic at) {
  const std::int64_t ns = std::max<std::int64_t>(at.time_since_epoch().count(),
                                                 1);  // 0 would disarm it
  itimerspec time{};
  time.it_value.tv_sec = static_cast<time_t>(ns / 1'000'000'000);
  time.it_value.tv_nsec = static_cast<long>(ns % 1'000'000'000);
  timerfd_settime(timer_fd_, TFD_TIMER_ABSTIME, &time, nullptr);
}

std::size_t Poller::poll(std::span<void*> owners) {
  std::array<epoll_event, 64> events;
  const auto room = static_cast<int>(std::min(owners.size(), events.size()));
  const int count = epoll_wait(fd_, events.data(), room, 0);
  std::size_t ready = 0;
  for (int i = 0; i < count; ++i) {
    if (events[static_cast<std::size_t>(i)].data.ptr == nullptr) continue;
    owners[ready++] = events[static_cast<std::size_t>(i)].data.ptr;
  }
  return ready;
}

}  // namespace limitree::redis

#endif
