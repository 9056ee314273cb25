// Many descriptors, a timer and a wake-up, all behind one descriptor that a
// host's event loop can watch: an epoll instance on Linux, a kqueue elsewhere.

#ifndef LIMITREE_STORE_REDIS_DRIVERS_POLLER_HPP
#define LIMITREE_STORE_REDIS_DRIVERS_POLLER_HPP

#include <cstddef>
#include <span>

#include "store/redis/common/health.hpp"

namespace limitree::redis {

class Poller {
 public:
  Poller();
  ~Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  // Readable while poll() has something to tell; -1 if it could not be made.
  int fd() const { return fd_; }

  // Watches `fd`, for reading and if `write` for writing too, or changes what
  // is watched for.  Closing a descriptor ends it.
  bool watch(int fd, bool write, void* owner);

  // Makes fd() readable.  From any thread.
  void wake();

  // Makes fd() readable at `at`; replaces what was set before.
  void set_timer(Monotonic at);

  // Stores the owners of descriptors that are ready, as many as there is room
  // for, and takes back wake-up and timer.  Never waits.
  std::size_t poll(std::span<void*> owners);

 private:
  int fd_ = -1;
  int wake_fd_ = -1;   // Linux only
  int timer_fd_ = -1;  // Linux only
};

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_DRIVERS_POLLER_HPP
