// One level of a request of which some levels are not plain GCRA, as the memory
// store decides it: evaluated first, and written when all of them are judged.

#ifndef LIMITREE_STORE_MEMORY_MIXED_LEVEL_HPP
#define LIMITREE_STORE_MEMORY_MIXED_LEVEL_HPP

#include <cstdint>
#include <span>

#include "base/demand.hpp"
#include "base/plan.hpp"
#include "store/memory/bucket_table.hpp"
#include "store/memory/cell.hpp"

namespace limitree {

// A shard's part for such levels.
struct CellShard {
  LogBytes* log_bytes = nullptr;  // the store's
  CellTable table{1};
};

class MixedLevel {
 public:
  // Plain data until evaluate(): see InlineVector.
  MixedLevel() = default;

  // Finds the bucket of *level, which is one of `plan`, and sets the level's
  // debt or usage. kOutOfMemory, and nothing has to be released, if a log has
  // no room. What it has found is valid until the next insert into either
  // table. The usage lives as long as this.
  Status evaluate(const Plan& plan, Level* level, std::uint64_t tag,
                  Instant now, BucketTable* buckets, CellShard* cells);

  // Writes what the level is charged, if its bucket exists, or else inserts it;
  // returns then what SlotTable::insert() does.
  bool exists() const { return bucket_ != nullptr || cell_ != nullptr; }
  void update(const Level& level, Instant now);
  bool insert(const Level& level, Instant now, BucketTable* buckets,
              CellShard* cells, std::span<const std::uint64_t> keep);

  // Of a level that is not charged: releases what it has prepared.
  void release();
  // And then writes its bucket as it is.  REQUIRES: is_held().
  void hold(const Level& level, Instant now);

 private:
  template <typename Algorithm>
  void evaluate_tat(const Demand& demand, const Limit& limit);
  void evaluate_fixed_window(const Demand& demand, const Limit& limit);
  void evaluate_sliding_tail(const Demand& demand, const Limit& limit);
  void finish_counts(Instant over);
  Status evaluate_log(const Demand& demand, const Level& level,
                      CellShard* cells);
  Instant new_tat(const Level& level, Instant now) const;
  void write_cell(const Level& level, Instant now, Cell* cell);

  Usage usage_;
  std::uint64_t tag_;
  Bucket* bucket_;     // null where there is none
  Cell* cell_;         // likewise
  Instant tat_;        // of a bucket that is charged
  Cell next_;          // what a cell is that is charged; of a log without `log`
  HeapLog* fresh_;     // a log that is to take the place of the cell's, or null
  std::int64_t more_;  // units for the log: see unit_log.hpp
  std::int64_t highest_;  // units that the bucket may hold
  std::int64_t ceiling_;  // those that it admits now
};

}  // namespace limitree

#endif  // LIMITREE_STORE_MEMORY_MIXED_LEVEL_HPP
