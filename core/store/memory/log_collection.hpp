// Which logs are given up when those of all shards take too much memory: the
// least limited, whatever their shards.
//
// All shards are looked at once, to learn how many bytes are to be had from
// whom, and once more to take them.

#ifndef LIMITREE_STORE_MEMORY_LOG_COLLECTION_HPP
#define LIMITREE_STORE_MEMORY_LOG_COLLECTION_HPP

#include <array>
#include <cstdint>
#include <span>

#include "base/time.hpp"
#include "store/memory/cell.hpp"

namespace limitree {

class LogCollection {
 public:
  // Spares the logs of tags in `keep`.
  LogCollection(Instant now, std::span<const std::uint64_t> keep)
      : now_(now), keep_(keep) {}

  // Frees the logs of which nothing counts any more, and counts the others.
  void look(CellTable* table);

  // Evicts so many bytes of what was seen, in all of the tables together.
  void aim(std::int64_t bytes);
  // Returns whether a log that would deny is among what it evicts.
  bool take(CellTable* table);

 private:
  bool may_go(const Cell& cell) const;

  const Instant now_;
  const std::span<const std::uint64_t> keep_;
  std::array<std::int64_t, Cell::kRanks> bytes_{};
  // All of the ranks below the last one go, and of that so many bytes.
  std::size_t last_ = 0;
  std::int64_t of_last_ = 0;
};

}  // namespace limitree

#endif  // LIMITREE_STORE_MEMORY_LOG_COLLECTION_HPP
