// Open addressing for buckets of 16 bytes, four to a cache line, or for cells
// of 32 bytes (cell.hpp).
//
//   line        0        1        2                        lines - 1
//            +--------+--------+--------+---- ... ----+--------+
//            |tag,TAT |        |        |             |        |
//            |  x 4   |        |        |             |        |
//            +--------+--------+--------+---- ... ----+--------+
//   window            <- home line of a tag and the seven after it ->
//
// A bucket is in the window of its tag, in the first slot that was free when it
// was made.  A slot is free if it was never used, or if its TAT has passed:
// that bucket is full, which is as good as absent.  So slots are reused in
// place, without timers or tombstones.  A used slot stays used until the table
// is rebuilt; a search may stop at the first slot that was never used.
//
// The table grows by at most a quarter at a time, up to its maximum.  If a
// window has no free slot then, the least limited bucket in it is evicted: the
// one that has used the smallest share of what it holds.  So a flood of callers
// does not evict a caller at a limit.
//
// Not thread-safe: see MemoryStore.

#ifndef LIMITREE_STORE_MEMORY_BUCKET_TABLE_HPP
#define LIMITREE_STORE_MEMORY_BUCKET_TABLE_HPP

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/limit.hpp"
#include "base/time.hpp"
#include "store/memory/measure.hpp"
#include "store/memory/pages.hpp"

namespace limitree {

struct Bucket {
  std::uint64_t tag;  // keyed hash of its name, and a Measure; 0: never used
  Instant tat;

  static Bucket made(std::uint64_t tag, const Limit& limit, Instant tat) {
    return {(tag & ~Measure::kMask) | Measure(limit).bits(), tat};
  }

  // Sets the end of its debt to `tat`.
  void charge(std::uint64_t own_tag, const Limit& limit, Instant new_tat,
              Instant now) {
    // A bucket that was full, or owed more, may belong to another limit that
    // was in force before a reload.
    if (is_over(now) || new_tat < tat) {
      *this = made(own_tag, limit, new_tat);
    } else {
      tat = new_tat;
    }
  }

  bool is_of(std::uint64_t other) const {
    return (tag ^ other) <= Measure::kMask;
  }
  // Whether the bucket is full at `now`, which is as good as absent.
  bool is_over(Instant now) const { return tat <= now; }
  // The used share of the bucket, from 0 to 1.
  float share(Instant now) const {
    return is_over(now) ? 0 : Measure(tag).share(saturating_sub(tat, now));
  }
  bool denies(Instant now) const {
    return !is_over(now) && Measure(tag).denies(saturating_sub(tat, now));
  }
  // Called before the slot is used for something else.
  void discard() {}
  static constexpr bool kOwns = false;  // whether discard() does anything
};

template <typename Slot>
class SlotTable {
 public:
  static constexpr std::uint32_t kSlotsPerLine = 64 / sizeof(Slot);
  static constexpr std::uint32_t kWindow = 8;  // lines

  // The lines of one of `tables` tables for `slots` in all, rounded down.
  static std::uint32_t lines_for(std::int64_t slots, std::uint32_t tables) {
    const std::int64_t lines = slots / (std::int64_t{kSlotsPerLine} * tables);
    return static_cast<std::uint32_t>(std::max(lines, std::int64_t{1}));
  }

  // Takes no memory before the first insert().  REQUIRES: max_lines > 0.
  explicit SlotTable(std::uint32_t max_lines) : max_lines_(max_lines) {}
  SlotTable(SlotTable&&) noexcept = default;
  SlotTable& operator=(SlotTable&&) noexcept = default;
  ~SlotTable() { discard_all(); }

  // Returns the bucket of `tag`, or null.  Valid until the next insert().
  // REQUIRES: tag > Measure::kMask.
  Slot* find(std::uint64_t tag) {
    if (lines_ == 0) return nullptr;
    std::uint32_t line = home_line(tag);
    for (std::uint32_t n = window(); n != 0; --n) {
      Slot* const slots = slots_of(line);
      for (std::uint32_t i = 0; i < kSlotsPerLine; ++i) {
        if (slots[i].is_of(tag)) return &slots[i];
        if (slots[i].tag == 0) return nullptr;
      }
      if (++line == lines_) line = 0;
    }
    return nullptr;
  }

  // Prefetches the memory that find(tag) reads first.
  void prefetch(std::uint64_t tag) const {
    if (lines_ != 0) __builtin_prefetch(slots_of(home_line(tag)), 1);
  }

  // Inserts a bucket.  Buckets named in `keep` are not evicted for it; if the
  // window has no others, the new bucket is discarded.  Returns whether a
  // bucket that would deny was evicted.
  // REQUIRES: find(bucket.tag) is null, !bucket.is_over(now).
  bool insert(Slot bucket, Instant now, std::span<const std::uint64_t> keep);

  // Calls visit() with a pointer to each bucket, including full ones.
  template <typename Visit>
  void each(Visit visit) {
    for (std::uint32_t line = 0; line < lines_; ++line) {
      for (std::uint32_t i = 0; i < kSlotsPerLine; ++i) {
        if (slots_of(line)[i].tag != 0) visit(&slots_of(line)[i]);
      }
    }
  }

  // Forgets a bucket that has a debt, to make room.
  // REQUIRES: !bucket->is_over(now).
  void evict(Slot* bucket, Instant now);

  // Forgets all buckets, and frees their memory.
  void clear();

  // Counts the buckets that are not full at `now`.
  std::int64_t live(Instant now) const;

  std::int64_t bytes() const;
  std::int64_t evictions() const { return evictions_; }
  // The evicted buckets that would deny.
  std::int64_t forgotten_limited() const { return forgotten_limited_; }

 private:
  Slot* slots_of(std::uint32_t line) const {
    return static_cast<Slot*>(pages_.data()) + line * kSlotsPerLine;
  }
  // Keeps the order of the tags' high halves, so that a rebuild reads and
  // writes from front to back.
  std::uint32_t home_line(std::uint64_t tag) const {
    return static_cast<std::uint32_t>(((tag >> 32) * lines_) >> 32);
  }
  std::uint32_t window() const { return lines_ < kWindow ? lines_ : kWindow; }

  Slot* find_free(std::uint64_t tag, Instant now) const;
  Slot* find_victim(std::uint64_t tag, Instant now,
                    std::span<const std::uint64_t> keep) const;
  void discard_all();
  bool make_room(Instant now, bool must_grow);
  bool rebuild(std::uint32_t lines, Instant now);

  Pages pages_;
  std::uint32_t lines_ = 0;
  std::uint32_t max_lines_;
  std::uint32_t used_ = 0;      // slots with a tag
  std::uint32_t sweep_at_ = 0;  // used_ at which to look for full buckets
  std::int64_t evictions_ = 0;
  std::int64_t forgotten_limited_ = 0;
};

using BucketTable = SlotTable<Bucket>;

}  // namespace limitree

#endif  // LIMITREE_STORE_MEMORY_BUCKET_TABLE_HPP
