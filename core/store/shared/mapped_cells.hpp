// The cells of one shard and their logs, in a mapped file.

#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "store/buckets/cell.hpp"
#include "store/buckets/mixed_level.hpp"
#include "store/shared/log_slab.hpp"
#include "store/shared/mapped_lines.hpp"

namespace limitree::shared {

// A cell is written through the journal of its shard, so that a process that is
// killed leaves it as it was before or as it is after.
class MappedCells : public MappedLines<Cell> {
 public:
  MappedCells(MappedFile* file, ShardWords* words, std::uint32_t shard)
      : MappedLines<Cell>(file, &words->cells, file->layout().cells_of(shard),
                          file->sizes().cell_lines),
        journal_(&words->journal),
        slab_(file, words, shard),
        begin_(file->layout().cells_of(shard)) {}

  LogSlab& slab() { return slab_; }
  LogBlock* block(std::uint64_t link) const { return slab_.block(link); }
  void free_log(std::uint64_t link) { slab_.free(link); }
  std::int64_t log_bytes(const Cell& cell) const {
    const LogBlock* const log = block(cell.log);
    return log == nullptr ? 0 : log->bytes();
  }

  void write(Cell* cell, const Cell& value);
  void write(Cell* cell, const Cell& value, LogBlock* block,
             const LogEdit& edit);
  void write(Cell* cell, const Cell& value, HoldBlock block,
             const HoldEdit& edit, const Rate& rate);
  void discard(Cell* cell) {
    const std::uint64_t log = cell->has_log != 0 ? cell->log : 0;
    cell->forget();
    if (log != 0) slab_.free(log);
  }

  // Finishes what the journal has, and frees the logs that no cell has.
  void repair();

 private:
  void finish();  // what the journal has

  Journal* journal_;
  LogSlab slab_;
  std::uint64_t begin_;  // of half A
};

using MappedCellTable = SlotTable<Cell, MappedCells>;

// See buckets/mixed_level.hpp.
struct MappedPlace {
  MappedBuckets buckets;
  MappedCellTable cells;

  // Evicts other logs of the shard if there is no room.
  Status make_log(std::uint32_t room, const MixedRequest& ask, LinkedLog* log);

 private:
  bool can_fit(std::uint32_t room, const MixedRequest& ask);
};

// For a shard whose owner was killed.  Idempotent: if this process is killed in
// the middle, the next one begins again.
void repair(MappedFile* file, std::uint32_t shard);

}  // namespace limitree::shared

namespace limitree {

extern template class SlotTable<Cell, shared::MappedCells>;
extern template class MixedLevel<shared::MappedPlace>;

}  // namespace limitree
