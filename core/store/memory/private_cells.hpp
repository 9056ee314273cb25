// The cells of window algorithms, and their logs, in this process's memory.

#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "base/status.hpp"
#include "store/buckets/cell.hpp"
#include "store/buckets/log_block.hpp"
#include "store/buckets/mixed_level.hpp"
#include "store/buckets/slot_table.hpp"
#include "store/memory/private_lines.hpp"

namespace limitree {

// The bytes of all logs, shared by the shards of a store.
using LogBytes = std::atomic<std::int64_t>;

// PrivateLines for slots that own logs.  A link is a pointer.
class PrivateCells : public PrivateLines<Cell> {
 public:
  using PrivateLines<Cell>::PrivateLines;

  // *total counts the bytes of the logs, and must outlive them.
  void count_logs_in(LogBytes* total) { total_ = total; }

  std::uint64_t make_log(std::uint32_t room);  // 0 if there is no memory
  void free_log(std::uint64_t link);
  static LogBlock* block(std::uint64_t link) {
    return std::bit_cast<LogBlock*>(static_cast<std::uintptr_t>(link));
  }
  static std::int64_t log_bytes(const Cell& cell) {
    return block(cell.log)->bytes();
  }

  using PrivateLines<Cell>::write;
  void write(Cell* cell, const Cell& value, LogBlock* block,
             const LogEdit& edit) {
    edit.apply(block);
    *cell = value;
  }
  void write(Cell* cell, const Cell& value, HoldBlock block,
             const HoldEdit& edit, const Rate& rate) {
    block.apply(edit, rate);
    *cell = value;
  }
  void discard(Cell* cell) {
    const std::uint64_t log = cell->has_log != 0 ? cell->log : 0;
    cell->forget();
    if (log != 0) free_log(log);
  }

 private:
  LogBytes* total_ = nullptr;
};

using CellTable = SlotTable<Cell, PrivateCells>;
extern template class SlotTable<Cell, PrivateCells>;

// The tables of a shard for window algorithms.
struct CellShard {
  CellTable table{1};

  CellShard() = default;
  ~CellShard() { table.discard_all(); }
  CellShard(const CellShard&) = delete;
  CellShard& operator=(const CellShard&) = delete;
};

// See mixed_level.hpp.
struct PrivatePlace {
  BucketTable& buckets;
  CellTable& cells;

  Status make_log(std::uint32_t room, const MixedRequest& /*ask*/,
                  LinkedLog* log) {
    const std::uint64_t link = cells.memory().make_log(room);
    *log = {link, PrivateCells::block(link)};
    if (link != 0) return {};
    return Status(Code::kOutOfMemory, "no memory for a log");
  }
};

extern template class MixedLevel<PrivatePlace>;

}  // namespace limitree
