// The buckets of an item in the form in which store/buckets/ decides: the same
// code as in the memory store.

#pragma once

#include <bit>
#include <cstdint>
#include <new>
#include <span>

#include "base/limit.hpp"
#include "base/status.hpp"
#include "base/time.hpp"
#include "store/buckets/bucket.hpp"
#include "store/buckets/cell.hpp"
#include "store/buckets/mixed_level.hpp"
#include "store/memcached/item.hpp"

namespace limitree::memcached {

// The memory of one cell.  A link is a pointer.
class CellMemory {
 public:
  static std::uint64_t make_log(std::uint32_t room);
  static void free_log(std::uint64_t link) { ::operator delete(block(link)); }
  static LogBlock* block(std::uint64_t link) {
    return std::bit_cast<LogBlock*>(static_cast<std::uintptr_t>(link));
  }
  static void write(Cell* cell, const Cell& value) { *cell = value; }
  static void write(Cell* cell, const Cell& value, LogBlock* block,
                    const LogEdit& edit) {
    edit.apply(block);
    *cell = value;
  }
  static void write(Cell* cell, const Cell& value, HoldBlock block,
                    const HoldEdit& edit, const Rate& rate) {
    block.apply(edit, rate);
    *cell = value;
  }
  static void discard(Cell* cell) {
    const std::uint64_t log = cell->has_log != 0 ? cell->log : 0;
    cell->forget();
    if (log != 0) free_log(log);
  }
};

// A table with one slot, whatever its tag is.
template <typename Slot>
class OneSlot {
 public:
  Slot* find(std::uint64_t /*tag*/) { return has_ ? &slot_ : nullptr; }
  static bool reserve(Instant /*now*/) { return true; }
  bool insert(const Slot& slot, Instant /*now*/,
              std::span<const std::uint64_t> /*keep*/) {
    slot_ = slot;
    has_ = true;
    return false;
  }
  CellMemory& memory() { return memory_; }

 private:
  Slot slot_{};
  bool has_ = false;
  [[no_unique_address]] CellMemory memory_;
};

// One bucket, out of a field and back.
class ItemBucket {
 public:
  ItemBucket() = default;
  ~ItemBucket();
  ItemBucket(const ItemBucket&) = delete;
  ItemBucket& operator=(const ItemBucket&) = delete;

  // A GCRA with `hold` and one without have the same name: while processes
  // differ in that, each reads what the other has written.  What is held counts
  // as used then.
  //
  // REQUIRES: it is empty.
  void load(const Field& field, const Limit& limit, Instant now);

  // Sets all of *field but its name, from a cell or a bucket.  Returns false if
  // nothing is left of that at `now`.
  bool save(bool is_cell, Instant now, Field* field);

  // See mixed_level.hpp.
  struct Place {
    OneSlot<Bucket>& buckets;
    OneSlot<Cell>& cells;

    static Status make_log(std::uint32_t room, const MixedRequest& /*ask*/,
                           LinkedLog* log) {
      const std::uint64_t link = CellMemory::make_log(room);
      *log = {link, CellMemory::block(link)};
      return {};
    }
  };
  Place place() { return {buckets_, cells_}; }

 private:
  OneSlot<Bucket> buckets_;
  OneSlot<Cell> cells_;
};

}  // namespace limitree::memcached

namespace limitree {

extern template class MixedLevel<memcached::ItemBucket::Place>;

}  // namespace limitree
