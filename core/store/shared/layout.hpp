// What lies where in the file of shm://.
//
//   header            one page: what file it is, its sizes, its hash key
//   process slots             8 bytes for each process that may map the file
//   shards            256 bytes each: lock, words of its tables, journal
//   for each shard:   buckets A, buckets B   lines of 64 bytes: slot_lines.hpp
//                     cells A, cells B       the same
//                     log map                a bit for each unit of the slab
//                     log slab               units of 64 bytes: LogBlocks
//
// All of it is sparse: memory is taken for what is used.  A table lies in A or
// in B.  When it grows it is copied into the other half, and one store of eight
// bytes makes that the table.  Nothing in the file is a pointer: processes map
// it at different addresses.
//
// What the file says is not trusted: whatever its bytes are, no index made of
// them leads out of the mapping.

#pragma once

#include <atomic>
#include <cstdint>

#include "base/time.hpp"
#include "store/buckets/bucket.hpp"
#include "store/buckets/cell.hpp"
#include "store/buckets/hold_block.hpp"
#include "store/buckets/log_block.hpp"
#include "store/buckets/slot_table.hpp"

namespace limitree::shared {

inline constexpr char kMagic[8] = {'l', 'i', 'm', 'i', 't', 'r', 'e', 'e'};
inline constexpr std::uint32_t kVersion = 2;
inline constexpr std::uint32_t kByteOrder = 0x01020304;
inline constexpr std::uint64_t kPage = 4096;
inline constexpr std::uint32_t kProcessSlots = 1024;
inline constexpr std::uint64_t kLogUnit = 64;

// What the maker chooses.  Everything else follows from it.
struct Sizes {
  std::uint64_t max_buckets;
  std::uint64_t max_bytes;  // as for log_bytes_of()
  std::uint32_t shard_count;
  std::uint32_t bucket_lines;  // of a shard, at most
  std::uint32_t cell_lines;    // the same
  std::uint32_t log_units;     // the same
};

Sizes sizes_for(std::int64_t max_buckets, std::int64_t max_bytes);

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t byte_order;
  std::uint64_t file_bytes;
  Sizes sizes;
  std::uint64_t key[2];     // of the hash of names
  std::uint64_t owner;      // user of the maker
  std::uint64_t check_sum;  // of all before it

  // Nanoseconds from the time since the machine was started to the wall clock,
  // set by a process that opens the file while no other has it open, under the
  // lock of processes that open it: see files.hpp.
  std::int64_t clock_offset;

  // The start of the machine after which it was used last: this_boot(), set
  // in the same way.
  std::uint64_t boot;
};
static_assert(sizeof(Header) <= kPage);

// The sum that `header` must have.
std::uint64_t check_sum_of(const Header& header);

// The process in the slot: what distinguishes it from earlier ones, and its
// process number, which is only shown.  The kernel knows whether it lives:
// process_slots.hpp.
struct ProcessSlot {
  std::atomic<std::uint32_t> generation;
  std::atomic<std::uint32_t> process;
};

// Where a table is: the lines in use, and in the upper half whether they are B.
struct TableWords {
  std::atomic<std::uint64_t> place;
  TableCounts counts;
  // Evictions at which to ask for memory again, after there was none.
  std::uint64_t retry_at;
};

// A change of a cell and its log that is being written.  A process that finds
// the lock of a dead owner writes it again.
struct Journal {
  struct Holds {
    std::uint32_t used;
    std::uint32_t count;
    Hold hold;
  };

  std::uint64_t steps;  // 0: nothing; 1: a cell; 2: and a log; 3: and holds
  std::uint64_t slot;   // of the cell, in the file
  Cell cell;
  std::uint64_t link;  // of the log
  LogBlock::Head head;
  std::uint32_t place;  // of the entry or the hold; LogEdit::kNone: none
  union {
    LogEntry entry;
    Holds holds;
  };
};

// The time of a request, and the word of the process slot whose clock it is
// from.
struct Time {
  Instant at;
  std::uint64_t by;
};

struct alignas(256) ShardWords {
  std::atomic<std::uint64_t> lock;  // 0, or the word of a process slot
  TableWords buckets;
  Time latest;  // of the last request
  alignas(64) TableWords cells;
  std::uint32_t log_ready;  // units that have memory
  std::uint32_t log_free;   // all units before it are taken
  alignas(64) Journal journal;
};
static_assert(sizeof(ShardWords) == 256);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// Offsets in the file, and the bytes of its parts.
struct Layout {
  explicit Layout(const Sizes& sizes);

  std::uint64_t slots;
  std::uint64_t shards;
  std::uint64_t tables;        // of the first shard
  std::uint64_t bucket_bytes;  // of one half
  std::uint64_t cell_bytes;    // the same
  std::uint64_t map_bytes;
  std::uint64_t slab_bytes;
  std::uint64_t shard_bytes;  // all tables of one
  std::uint64_t file_bytes;

  std::uint64_t buckets_of(std::uint32_t shard) const {
    return tables + shard * shard_bytes;
  }
  std::uint64_t cells_of(std::uint32_t shard) const {
    return buckets_of(shard) + 2 * bucket_bytes;
  }
  std::uint64_t map_of(std::uint32_t shard) const {
    return cells_of(shard) + 2 * cell_bytes;
  }
  std::uint64_t slab_of(std::uint32_t shard) const {
    return map_of(shard) + map_bytes;
  }
};

}  // namespace limitree::shared
