// What happens if memory of a mapped file is gone, because the file was
// truncated or its disk failed.  Then the kernel sends SIGBUS to a thread that
// touches it, which would end the host process.

#pragma once

#include <atomic>
#include <cstddef>

namespace limitree::shared {

// A mapping that survives it.  The handler of SIGBUS puts zeroed memory of this
// process in place of the whole mapping and sets lost(); what touched it goes
// on, and reads zeros.  Every SIGBUS that is not about such a mapping goes to
// the handler that was there before.
//
// The handler is installed with the first guard of the process, and stays.  A
// handler that the host installs later has to call ours for SIGBUS.
class BusGuard {
 public:
  // Watches the mapping of `size` bytes at `begin`, until it is destroyed.
  // ok() is false if the process has too many.
  BusGuard(void* begin, std::size_t size, int file);
  ~BusGuard();
  BusGuard(const BusGuard&) = delete;
  BusGuard& operator=(const BusGuard&) = delete;

  bool ok() const { return watched_ != nullptr; }
  bool lost() const { return lost_.load(std::memory_order_relaxed); }

  struct Watched;  // one of a fixed number: a handler cannot take locks

 private:
  std::atomic<bool> lost_{false};
  Watched* watched_ = nullptr;
};

}  // namespace limitree::shared
