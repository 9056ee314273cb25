// An item of memcached: all buckets of one caller, as bytes.
//
//   "LT" 1          what it is, and the version of the format
//   latest          the latest instant it was decided at, in nanoseconds
//   writer          whose clock that was, if a caller's own; or 0
//   fields          how many; then each of them, in the order of their names:
//     name          how many bytes; then these: what follows the family's key
//                   in the name of the bucket
//     kind          as below
//     over          when it stops counting, less `latest`, in nanoseconds, or
//                   of a cell in microseconds
//     ...           as its kind has it: see item.cpp
//
// Numbers are those of base/byte_stream.hpp; identifiers of holds are two
// words.
//
// Whatever the bytes are, decoding ends with an item or with what is wrong, and
// takes no more memory than a small multiple of their number.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/hold.hpp"
#include "base/time.hpp"
#include "base/unit_log.hpp"

namespace limitree::memcached {

// The state of one bucket: what store/buckets/ keeps of it.
struct Field {
  enum class Kind : std::uint8_t {
    kTat,     // `over` is its TAT
    kCounts,  // `start`, and two counters
    kTail,    // the same, of an algorithm with a tail
    kLog,     // `start`, and `entries`
    kHolds,   // `start`, `current` and `holds`
  };

  std::string name;
  Kind kind = Kind::kTat;
  Instant over;            // when it is as good as absent; of cells in whole
                           // microseconds
  std::int64_t start = 0;  // of a Cell
  std::uint32_t current = 0;
  std::uint32_t previous = 0;
  std::vector<LogEntry> entries;  // oldest first
  std::vector<Hold> holds;        // in the order of their ends

  void forget() {
    over = kLongAgo;
    holds.clear();
  }
};

struct Item {
  Instant latest = kLongAgo;
  std::uint64_t writer = 0;
  std::vector<Field> fields;  // in the order of their names, which differ

  // The index of a field, or kNone.
  static constexpr std::size_t kNone = SIZE_MAX;
  std::size_t find(std::string_view name) const;

  // When the last of its fields is over; kLongAgo if it has none.
  Instant over() const;
};

// The most fields of an item.
inline constexpr std::size_t kMaxFields = 16384;

void encode(const Item& item, std::string* out);

// Returns what is wrong, or null if *item is set.
const char* decode(std::string_view bytes, Item* item);

}  // namespace limitree::memcached
