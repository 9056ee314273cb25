// A counter of one thread that others may read.

#ifndef LIMITREE_SERVER_STATS_COUNTER_HPP
#define LIMITREE_SERVER_STATS_COUNTER_HPP

#include <atomic>
#include <cstdint>

namespace limitree::server {

// Only one thread adds, so adding needs no locked instruction.
class Counter {
 public:
  void add(std::uint64_t count = 1) {
    value_.store(get() + count, std::memory_order_relaxed);
  }
  // From any thread.
  std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_STATS_COUNTER_HPP
