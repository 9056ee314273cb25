// Which logs are evicted when all shards together use too much memory: the
// least limited, in whatever shard.
//
// The first pass over all shards counts the bytes by rank, the second takes
// them.

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

  // Frees logs without entries that count, and counts the bytes of the others.
  void look(CellTable* table);

  // Evicts this many bytes of those counted, over all tables.
  void aim(std::int64_t bytes);
  // Returns whether it evicted a log that would deny.
  bool take(CellTable* table);

 private:
  bool may_go(const Cell& cell) const;

  const Instant now_;
  const std::span<const std::uint64_t> keep_;
  std::array<std::int64_t, Cell::kRanks> bytes_{};
  // All ranks below last_ are evicted, and of_last_ bytes of that rank.
  std::size_t last_ = 0;
  std::int64_t of_last_ = 0;
};

}  // namespace limitree

#endif  // LIMITREE_STORE_MEMORY_LOG_COLLECTION_HPP
