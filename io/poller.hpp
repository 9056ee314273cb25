// Many descriptors, a timer and a wake-up, all behind one descriptor that
// another event loop can watch: an epoll instance on Linux, a kqueue elsewhere.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "io/fd.hpp"
#include "io/timer.hpp"

namespace limitree {

class Poller {
 public:
  // What to watch a descriptor for: the numbers of epoll.
  static constexpr std::uint32_t kRead = 1;
  static constexpr std::uint32_t kWrite = 4;

  struct Ready {
    void* owner;  // of a descriptor; null: woken, or the timer
    std::uint32_t events;
  };

  Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  // Readable while poll() has something to report; -1 if the poller could not
  // be made, and errno says why.
  int fd() const { return poller_.get(); }

  // Watches a descriptor; closing it ends that.  False and errno if it fails.
  bool add(int fd, std::uint32_t events, void* owner);
  bool change(int fd, std::uint32_t events, void* owner);
  // Adds or changes: the number may by now belong to a new descriptor, which
  // the poller does not know.
  bool watch(int fd, std::uint32_t events, void* owner);
  void remove(int fd);

  // Makes fd() readable.  From any thread.
  void wake();

  // Makes fd() readable at `at`; replaces what was set before.
  void set_timer(Monotonic at);

  // Stores what is ready, as far as there is room, and clears the wake-up and
  // the timer.  Waits for at most `wait_ms` milliseconds; -1: without limit.
  std::size_t poll(std::span<Ready> ready, int wait_ms = 0);

 private:
  Fd poller_;
  Fd wake_;   // Linux only
  Fd timer_;  // Linux only
};

}  // namespace limitree
