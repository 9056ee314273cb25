// A struct of counters to which several threads add.

#ifndef LIMITREE_LIMITER_ATOMIC_COUNTS_HPP
#define LIMITREE_LIMITER_ATOMIC_COUNTS_HPP

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/counts.hpp"

namespace limitree {

template <typename Counts>
class AtomicCounts {
 public:
  void add(const Counts& more) {
    const auto added = std::bit_cast<CountArray<Counts>>(more);
    for (std::size_t i = 0; i < added.size(); ++i) {
      if (added[i] == 0) continue;
      counts_[i].fetch_add(added[i], std::memory_order_relaxed);
    }
  }

  Counts get() const {
    CountArray<Counts> counts;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      counts[i] = counts_[i].load(std::memory_order_relaxed);
    }
    return std::bit_cast<Counts>(counts);
  }

 private:
  std::array<std::atomic<std::int64_t>, std::tuple_size_v<CountArray<Counts>>>
      counts_{};
};

}  // namespace limitree

#endif  // LIMITREE_LIMITER_ATOMIC_COUNTS_HPP
