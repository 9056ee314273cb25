// Open addressing for buckets of 16 bytes, four to a cache line, for cells of
// 32 bytes (cell.hpp), or for slots that take some lines each.
//
//   line        0        1        2                        count - 1
//            +--------+--------+--------+---- ... ----+--------+
//            |tag,TAT |        |        |             |        |
//            |  x 4   |        |        |             |        |
//            +--------+--------+--------+---- ... ----+--------+
//   window            <- memory line of a tag and the seven after it ->
//
// A bucket is in the window of its tag, in the first slot that was free when it
// was made.  A slot is free if it was never used, or if its TAT has passed:
// that bucket is full, which is as good as absent.  So slots are reused in
// place, without timers or tombstones.  A used slot stays used until the table
// is rebuilt; a search may stop at the first slot that was never used.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/time.hpp"
#include "store/buckets/named_tags.hpp"

namespace limitree {

// A view; slot_table.hpp tells who owns the memory.
template <typename Slot>
struct SlotLines {
  static constexpr std::int64_t kBytes =  // of a line, or of a larger slot
      std::max<std::int64_t>(64, sizeof(Slot));
  static constexpr std::uint32_t kSlots = kBytes / sizeof(Slot);
  static constexpr std::uint32_t kWindow = 8;  // lines

  Slot* slots = nullptr;
  std::uint32_t count = 0;

  // The lines of one of `tables` tables for `slots` in all, rounded down.
  static std::uint32_t lines_for(std::int64_t slots, std::uint32_t tables) {
    const std::int64_t lines = slots / (std::int64_t{kSlots} * tables);
    return static_cast<std::uint32_t>(std::max(lines, std::int64_t{1}));
  }

  Slot* line(std::uint32_t i) const { return slots + i * kSlots; }

  // Keeps the order of the tags' high halves, so that a rebuild reads and
  // writes from front to back.
  std::uint32_t home(std::uint64_t tag) const {
    return static_cast<std::uint32_t>(((tag >> 32) * count) >> 32);
  }
  std::uint32_t window() const { return count < kWindow ? count : kWindow; }

  // Returns the bucket of `tag`, or null.  REQUIRES: tag > Measure::kMask.
  [[gnu::always_inline]] Slot* find(std::uint64_t tag) const {
    if (count == 0) return nullptr;
    std::uint32_t at = home(tag);
    for (std::uint32_t n = window(); n != 0; --n) {
      Slot* const here = line(at);
      for (std::uint32_t i = 0; i < kSlots; ++i) {
        if (here[i].is_of(tag)) return &here[i];
        if (here[i].tag == 0) return nullptr;
      }
      if (++at == count) at = 0;
    }
    return nullptr;
  }

  // Prefetches the memory that find(tag) reads first.
  void prefetch(std::uint64_t tag) const {
    if (count != 0) __builtin_prefetch(line(home(tag)), 1);
  }

  // Returns the first free slot in the window of `tag`, or null.
  Slot* find_free(std::uint64_t tag, Instant now) const {
    if (count == 0) return nullptr;
    std::uint32_t at = home(tag);
    for (std::uint32_t n = window(); n != 0; --n) {
      Slot* const here = line(at);
      for (std::uint32_t i = 0; i < kSlots; ++i) {
        if (here[i].tag == 0 || here[i].is_over(now)) return &here[i];
      }
      if (++at == count) at = 0;
    }
    return nullptr;
  }

  // Returns the least limited bucket in the window of `tag`, but none that
  // `keep` names; or null.
  Slot* find_victim(std::uint64_t tag, Instant now,
                    std::span<const std::uint64_t> keep) const {
    if (count == 0) return nullptr;
    Slot* victim = nullptr;
    float least = 0;
    std::uint32_t at = home(tag);
    for (std::uint32_t n = window(); n != 0; --n) {
      for (std::uint32_t i = 0; i < kSlots; ++i) {
        Slot& slot = line(at)[i];
        const float share = slot.share(now);
        if (victim != nullptr && share >= least) continue;
        if (is_named(slot, keep)) continue;
        victim = &slot;
        least = share;
      }
      if (++at == count) at = 0;
    }
    return victim;
  }

  // Calls visit() with a pointer to each bucket, including full ones.
  template <typename Visit>
  void each(Visit visit) const {
    for (std::uint32_t at = 0; at < count; ++at) {
      for (std::uint32_t i = 0; i < kSlots; ++i) {
        if (line(at)[i].tag != 0) visit(&line(at)[i]);
      }
    }
  }

  // Counts the buckets that are not full at `now`.
  std::int64_t live(Instant now) const {
    return std::count_if(slots, slots + std::size_t{count} * kSlots,
                         [now](const Slot& bucket) {
                           return bucket.tag != 0 && !bucket.is_over(now);
                         });
  }
};

}  // namespace limitree
