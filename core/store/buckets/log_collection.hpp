// Which logs are evicted when they use too much memory: the least limited,
// whatever their shard.
//
// The first pass over all tables counts the bytes by rank, the second evicts
// logs.

#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/time.hpp"
#include "store/buckets/cell.hpp"
#include "store/buckets/named_tags.hpp"

namespace limitree {

class LogCollection {
 public:
  // Leaves the cells that `keep` names alone: see named_tags.hpp.
  LogCollection(Instant now, std::span<const std::uint64_t> keep)
      : now_(now), keep_(keep) {}

  // Frees logs without entries that count, and counts the bytes of the others.
  template <typename Table>
  void look(Table* table) {
    table->lines().each([this, table](Cell* cell) {
      if (!may_go(*cell)) return;
      if (cell->is_over(now_)) {
        table->memory().discard(cell);
      } else {
        bytes_[cell->rank(now_)] += table->memory().log_bytes(*cell);
      }
    });
  }

  // Evicts this many bytes of those counted, over all tables.
  void aim(std::int64_t bytes) {
    of_last_ = bytes;
    last_ = 0;
    while (last_ + 1 < bytes_.size() && bytes_[last_] < of_last_) {
      of_last_ -= bytes_[last_++];
    }
  }

  // Returns whether it evicted a log that would deny.
  template <typename Table>
  bool take(Table* table) {
    const std::int64_t before = table->forgotten_limited();
    table->lines().each([this, table](Cell* cell) {
      if (!may_go(*cell) || cell->is_over(now_)) return;
      const std::size_t rank = cell->rank(now_);
      if (rank > last_ || (rank == last_ && of_last_ <= 0)) return;
      if (rank == last_) of_last_ -= table->memory().log_bytes(*cell);
      table->evict(cell, now_);
    });
    return table->forgotten_limited() != before;
  }

 private:
  bool may_go(const Cell& cell) const {
    return cell.has_log != 0 && !is_named(cell, keep_);
  }

  const Instant now_;
  const std::span<const std::uint64_t> keep_;
  std::array<std::int64_t, Cell::kRanks> bytes_{};
  // All ranks below last_ are evicted, and of_last_ bytes of that rank.
  std::size_t last_ = 0;
  std::int64_t of_last_ = 0;
};

}  // namespace limitree
