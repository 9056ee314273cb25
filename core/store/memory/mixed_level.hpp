// A level of a request in which some levels are not plain GCRA, in the memory
// store: evaluated first, and written after all levels are judged.

#ifndef LIMITREE_STORE_MEMORY_MIXED_LEVEL_HPP
#define LIMITREE_STORE_MEMORY_MIXED_LEVEL_HPP

#include <cstdint>
#include <span>

#include "base/demand.hpp"
#include "base/plan.hpp"
#include "store/memory/bucket_table.hpp"
#include "store/memory/cell.hpp"

namespace limitree {

// The part of a shard for such levels.
struct CellShard {
  LogBytes* log_bytes = nullptr;  // the store's
  CellTable table{1};
};

class MixedLevel {
 public:
  // Uninitialized until evaluate(): see InlineVector.
  MixedLevel() = default;

  // Finds the bucket of *level, which belongs to `plan`, and sets the level's
  // debt or usage. kOutOfMemory if a log cannot grow; nothing is to be released
  // then.  The result is valid until the next insert into either table.  The
  // usage lives as long as this object.
  Status evaluate(const Plan& plan, Level* level, std::uint64_t tag,
                  Instant now, BucketTable* buckets, CellShard* cells);

  // update() writes the charge if the bucket exists; otherwise insert() does,
  // and returns what SlotTable::insert() returns.
  bool exists() const { return bucket_ != nullptr || cell_ != nullptr; }
  void update(const Level& level, Instant now);
  bool insert(const Level& level, Instant now, BucketTable* buckets,
              CellShard* cells, std::span<const std::uint64_t> keep);

  // For a level that is not charged: releases what was prepared.
  void release();
  // Then writes its bucket as it is.  REQUIRES: is_held().
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
  Bucket* bucket_;        // null: there is none
  Cell* cell_;            // likewise
  Instant tat_;           // after the charge
  Cell next_;             // the cell after the charge; for a log without `log`
  HeapLog* fresh_;        // a log to replace that of the cell, or null
  std::int64_t more_;     // units for the log: see unit_log.hpp
  std::int64_t highest_;  // units that the bucket can hold
  std::int64_t ceiling_;  // units that it admits now
};

}  // namespace limitree

#endif  // LIMITREE_STORE_MEMORY_MIXED_LEVEL_HPP
