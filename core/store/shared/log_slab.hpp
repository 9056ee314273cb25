// The memory of the logs of one shard: units of 64 bytes, and a bit for each
// that is taken.
//
// There is nothing to repair in it: the cells say which units are taken.  A
// unit that was taken for a log when its process was killed is free again after
// sweep().

#pragma once

#include <cstdint>

#include "store/buckets/log_block.hpp"
#include "store/buckets/mixed_level.hpp"
#include "store/shared/layout.hpp"
#include "store/shared/mapped_file.hpp"

namespace limitree::shared {

class LogSlab {
 public:
  LogSlab(MappedFile* file, ShardWords* words, std::uint32_t shard)
      : file_(file), words_(words), shard_(shard) {}

  // Returns a new block, or none if there is no room.  A link is the number of
  // its first unit, from 1.
  LinkedLog make(std::uint32_t room);
  void free(std::uint64_t link);

  // Returns null if the link, or the block that it leads to, is damaged.
  LogBlock* block(std::uint64_t link) const;
  // The same for a block whose head is half written, except for its `room`.
  LogBlock* block_of(std::uint64_t link, const LogBlock::Head& head) const;

  // The bytes that can be in use at once.
  std::int64_t capacity() const {
    return std::int64_t{total()} * std::int64_t{kLogUnit};
  }

  // Where it is, in units; none if there is no such block.
  struct Units {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  Units units_of(std::uint64_t link) const;
  static std::uint64_t units_for(std::uint32_t room) {
    const auto bytes = static_cast<std::uint64_t>(LogBlock::bytes_for(room));
    return (bytes + kLogUnit - 1) / kLogUnit;
  }
  std::uint32_t ready() const;  // units that have memory

  // Frees all units.
  void sweep();
  // After sweep(): takes the units of a block again.  Returns false if there is
  // no such block, or another one has taken a part of it.
  bool keep(std::uint64_t link);

 private:
  std::uint32_t total() const { return file_->sizes().log_units; }
  LogBlock* at(std::uint64_t link) const;
  std::uint64_t* map() const;
  bool is_taken(std::uint64_t unit) const;
  void mark(std::uint64_t first, std::uint64_t count, bool taken);
  std::uint64_t find(std::uint64_t count) const;
  bool grow(std::uint64_t count);

  MappedFile* file_;
  ShardWords* words_;
  std::uint32_t shard_;
};

}  // namespace limitree::shared
