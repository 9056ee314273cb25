// What a window algorithm keeps of one bucket: a slot of 32 bytes, and for logs
// a block of entries beside it.

#ifndef LIMITREE_STORE_CELL_HPP
#define LIMITREE_STORE_CELL_HPP

#include <algorithm>
#include <cstdint>
#include <memory>

#include "base/fixed_window.hpp"
#include "base/micros.hpp"
#include "base/sliding_tail.hpp"
#include "base/unit_log.hpp"
#include "store/bucket_table.hpp"

namespace limitree {

// The entries of a log, in one block that grows by half.
class HeapLog {
 public:
  // Null if there is no memory.  *total counts the bytes of all logs, and has
  // to live longer than they do.
  static HeapLog* make(std::uint32_t room, std::int64_t* total);
  static void free(HeapLog* log);

  // One without entries, or a place for any.
  HeapLog() = default;

  std::size_t size() const { return size_; }
  const LogEntry& operator[](std::size_t i) const { return entries()[i]; }
  std::int64_t sum() const { return sum_; }
  bool is_full() const { return first_ + size_ == room_; }
  std::int64_t bytes() const { return bytes_for(room_); }

  // A larger one with the same entries, or a smaller one if most has left;
  // null, and the old one stays, if there is no memory.
  HeapLog* regrown() const;

  void push_back(const LogEntry& entry) {  // REQUIRES: !is_full()
    entries()[size_++] = entry;
    sum_ += entry.units();
  }
  void pop_back() { sum_ -= entries()[--size_].units(); }
  void pop_front() {
    sum_ -= entries()[0].units();
    ++first_;
    --size_;
  }
  void change_last(Instant at, std::int64_t more) {
    entries()[size_ - 1].change(at, more);
    sum_ += more;
  }

 private:
  HeapLog(std::uint32_t room, std::int64_t* total)
      : total_(total), room_(room) {}

  static std::int64_t bytes_for(std::uint32_t room) {
    return std::int64_t{sizeof(HeapLog)} +
           std::int64_t{sizeof(LogEntry)} * room;
  }
  LogEntry* entries() { return reinterpret_cast<LogEntry*>(this + 1) + first_; }
  const LogEntry* entries() const {
    return reinterpret_cast<const LogEntry*>(this + 1) + first_;
  }

  std::int64_t* total_ = nullptr;
  std::int64_t sum_ = 0;
  std::uint32_t room_ = 0;   // entries in all
  std::uint32_t first_ = 0;  // the oldest that counts
  std::uint32_t size_ = 0;
};

struct Cell {
  std::uint64_t tag;  // keyed hash of the bucket's name; 0: never used

  // When nothing of it counts any more, in microseconds since kEver; which part
  // of the ceiling is used, in 127ths; and whether `log` is what it holds.
  std::uint64_t over_at : 56;
  std::uint64_t share : 7;
  std::uint64_t has_log : 1;

  std::int64_t start;  // of the window, in microseconds
  struct Units {
    std::uint32_t current;
    std::uint32_t previous;
  };
  union {
    Units units;
    HeapLog* log;
  };

  // Before any Instant, in microseconds; an over_at of 0 has always passed.
  static constexpr std::int64_t kEver = -(std::int64_t{1} << 54);

  bool is_over(Instant now) const { return over_at == 0 || over() <= now; }
  Instant over() const {
    return Instant((static_cast<std::int64_t>(over_at) + kEver) * kMicrosecond);
  }
  void set_over(Instant at) {
    const std::int64_t micros = at.time_since_epoch() / kMicrosecond;
    over_at = static_cast<std::uint64_t>(micros - kEver) &
              ((std::uint64_t{1} << 56) - 1);
  }

  // Who has used most of his limit, for longest to come, owes most.
  std::int64_t debt(Instant now) const {
    if (is_over(now)) return 0;
    const Duration left = saturating_sub(over(), now);
    return left / kMicrosecond * static_cast<std::int64_t>(share + 1);
  }

  void discard() {
    if (has_log != 0) HeapLog::free(log);
    has_log = 0;
    over_at = 0;
    units = {0, 0};
  }
  static constexpr bool kOwns = true;
};
static_assert(sizeof(Cell) == 32);

using CellTable = SlotTable<Cell>;

}  // namespace limitree

#endif  // LIMITREE_STORE_CELL_HPP
