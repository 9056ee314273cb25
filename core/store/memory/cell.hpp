// The state of one bucket of a window algorithm: a slot of 32 bytes, and for
// logs a separate block of entries.

#ifndef LIMITREE_STORE_MEMORY_CELL_HPP
#define LIMITREE_STORE_MEMORY_CELL_HPP

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

#include "base/fixed_window.hpp"
#include "base/micros.hpp"
#include "base/sliding_tail.hpp"
#include "base/unit_log.hpp"
#include "store/memory/bucket_table.hpp"

namespace limitree {

// The bytes of all logs, shared by the shards of a store.
using LogBytes = std::atomic<std::int64_t>;

// The entries of a log, in one block that grows by a quarter.
class HeapLog {
 public:
  // Null if there is no memory.  *total counts the bytes of all logs, and must
  // outlive them.
  static HeapLog* make(std::uint32_t room, LogBytes* total);
  static void free(HeapLog* log);

  // An empty log without room for entries.
  HeapLog() = default;

  std::size_t size() const { return size_; }
  const LogEntry& operator[](std::size_t i) const { return entries()[i]; }
  std::int64_t sum() const { return sum_; }
  bool is_full() const { return first_ + size_ == room_; }
  std::int64_t bytes() const { return bytes_for(room_); }

  // A larger log with the entries from `first` on, or a smaller one if most
  // have left; null if there is no memory.  The old log stays.
  HeapLog* regrown(std::size_t first) const;

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
  HeapLog(std::uint32_t room, LogBytes* total) : total_(total), room_(room) {}

  static std::int64_t bytes_for(std::uint32_t room) {
    return std::int64_t{sizeof(HeapLog)} +
           std::int64_t{sizeof(LogEntry)} * room;
  }
  LogEntry* entries() { return reinterpret_cast<LogEntry*>(this + 1) + first_; }
  const LogEntry* entries() const {
    return reinterpret_cast<const LogEntry*>(this + 1) + first_;
  }

  LogBytes* total_ = nullptr;
  std::int64_t sum_ = 0;
  std::uint32_t room_ = 0;   // total entries
  std::uint32_t first_ = 0;  // oldest entry that counts
  std::uint32_t size_ = 0;
};

struct Cell {
  std::uint64_t tag;  // keyed hash of the bucket's name; 0: never used

  // When all of it stops counting, in microseconds since kEver; the part of the
  // ceiling used at the last charge, in 126ths, or kDenies; whether it is a
  // sliding_tail; and whether it holds `log`.
  std::uint64_t over_at : 55;
  std::uint64_t part : 7;
  std::uint64_t has_tail : 1;
  std::uint64_t has_log : 1;

  // The start of the window, or the time at which the oldest unit of a log
  // leaves, in microseconds.
  std::int64_t start;
  struct Units {
    std::uint32_t current;
    std::uint32_t previous;
  };
  union {
    Units units;
    HeapLog* log;
  };

  // Before any Instant, in microseconds.  An over_at of 0 is always past.
  static constexpr std::int64_t kEver = -(std::int64_t{1} << 54);

  // A request of cost 1 would be denied.
  static constexpr std::uint64_t kDenies = 127;

  bool is_of(std::uint64_t other) const { return tag == other; }
  bool is_over(Instant now) const { return over_at == 0 || over() <= now; }
  Instant over() const {
    return Instant((static_cast<std::int64_t>(over_at) + kEver) * kMicrosecond);
  }
  void set_over(Instant at) {
    const std::int64_t micros = at.time_since_epoch() / kMicrosecond;
    over_at = static_cast<std::uint64_t>(micros - kEver) &
              ((std::uint64_t{1} << 55) - 1);
  }

  // Notes a charge: `used` of `ceiling` units; a request of cost 1 takes
  // `cost`.
  void set_used(std::int64_t used, std::int64_t cost, std::int64_t ceiling) {
    if (used + cost > ceiling) {
      part = kDenies;
      return;
    }
    // A counter may admit nothing, and be asked how much is left.
    const std::int64_t share = 126 * used / std::max(ceiling, std::int64_t{1});
    part = static_cast<std::uint64_t>(share) & 127;
  }

  // The used share, from 0 to 1.  Constant until units begin to leave, then
  // falling evenly, because the cell does not know more.
  float share(Instant now) const {
    if (is_over(now)) return 0;
    const float most = static_cast<float>(std::min<std::uint64_t>(part, 126));
    const Instant from = leaves_from();
    if (now <= from) return most / 126;
    return most / 126 * seconds(saturating_sub(over(), now)) /
           seconds(saturating_sub(over(), from));
  }
  bool denies(Instant now) const {
    return part == kDenies && !is_over(now) && now < leaves_from();
  }

  // The share as 0 to 126; the last rank if the cell denies.
  static constexpr std::size_t kRanks = 128;
  std::size_t rank(Instant now) const {
    if (denies(now)) return kDenies;
    return static_cast<std::size_t>(126 * share(now));
  }

  void discard() {
    if (has_log != 0) HeapLog::free(log);
    has_log = 0;
    over_at = 0;
    units = {0, 0};
  }
  static constexpr bool kOwns = true;

 private:
  static float seconds(Duration time) {
    return std::chrono::duration<float>(time).count();
  }

  // When units begin to leave.  In a fixed window all leave at once.
  Instant leaves_from() const {
    const auto begin = Instant(start * kMicrosecond);
    if (has_log != 0) return begin;
    if (has_tail == 0) return over();
    // Units of the previous window leave already; those of this one in the
    // next.
    if (units.current == 0) return begin;
    return saturating_add(begin, saturating_sub(over(), begin) / 2);
  }
};
static_assert(sizeof(Cell) == 32);

using CellTable = SlotTable<Cell>;

}  // namespace limitree

#endif  // LIMITREE_STORE_MEMORY_CELL_HPP
