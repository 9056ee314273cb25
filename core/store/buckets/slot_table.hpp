// A bounded table of buckets, one for each shard of a store.
//
// The table grows by at most a quarter at a time, up to its maximum.  If a
// window (slot_lines.hpp) has no free slot then, the least limited bucket in it
// is evicted: the one that has used the smallest share of what it holds.  So a
// flood of callers does not evict a caller at a limit.
//
// A Memory holds its lines and counts, in this process's memory or in a file
// that several processes share:
//
//   SlotLines<Slot> lines()              the lines in use
//   std::uint32_t max_lines()
//   TableCounts& counts()
//   Successor successor(line_count)      empty lines that may take their place,
//                                        with `lines`; none if no memory
//   void replace(Successor)              makes them do so
//   void grow_after(evictions)           there was no memory: may_grow() is
//   bool may_grow()                      false until so many evictions later
//   void clear()                         removes all lines, and all counts but
//                                        those of evictions
//   void write(Slot*, const Slot&)       sets a slot
//   void discard(Slot*)                  frees what the slot owns
//
// Not thread-safe: the lock of the shard guards it.

#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "base/time.hpp"
#include "store/buckets/slot_lines.hpp"

namespace limitree {

// Unsigned, because the counts of a file may be anything.
struct TableCounts {
  std::uint32_t used = 0;       // slots with a tag
  std::uint32_t sweep_at = 0;   // used at which to look for full buckets
  std::uint64_t evictions = 0;  // buckets forgotten to make room
  std::uint64_t forgotten = 0;  // of them, those that would deny
};

template <typename Slot, typename Memory>
class SlotTable {
 public:
  using Lines = SlotLines<Slot>;

  explicit SlotTable(Memory memory) : memory_(std::move(memory)) {}

  Memory& memory() { return memory_; }
  Lines lines() const { return memory_.lines(); }

  // Returns the bucket of `tag`, or null.  Valid until the next insert().
  // REQUIRES: tag > Measure::kMask.
  Slot* find(std::uint64_t tag) { return lines().find(tag); }

  // Makes sure of memory for a first line.  Returns false if there is none.
  // Then insert() keeps nothing.
  bool reserve(Instant now) {
    return lines().count != 0 || make_room(now, true);
  }

  // Inserts a bucket.  Buckets that `keep` names (named_tags.hpp) are not
  // evicted for it; if the window has no others, the new bucket is.  Returns
  // whether the bucket that was evicted would deny.
  // REQUIRES: find(bucket.tag) is null, !bucket.is_over(now).
  bool insert(Slot bucket, Instant now, std::span<const std::uint64_t> keep);

  // Forgets a bucket that has a debt, to make room.
  // REQUIRES: !bucket->is_over(now).
  void evict(Slot* bucket, Instant now) {
    count_eviction(*bucket, now);
    memory_.discard(bucket);
  }

  // Forgets all buckets, and frees their memory.
  void clear() {
    discard_all();
    memory_.clear();
  }
  // Frees what all buckets own, before their memory goes.
  void discard_all() {
    if constexpr (Slot::kOwns) {
      lines().each([this](Slot* slot) { memory_.discard(slot); });
    }
  }

  std::int64_t live(Instant now) const { return lines().live(now); }
  std::int64_t bytes() const { return bytes_of(lines().count); }
  std::int64_t evictions() const {
    return static_cast<std::int64_t>(memory_.counts().evictions);
  }
  // The evicted buckets that would deny.
  std::int64_t forgotten_limited() const {
    return static_cast<std::int64_t>(memory_.counts().forgotten);
  }

  // The memory of `count` lines.
  static std::int64_t bytes_of(std::uint32_t count) {
    const std::int64_t pages =
        (std::int64_t{count} + kPageLines - 1) / kPageLines;
    return pages * kPageLines * Lines::kBytes;
  }

 private:
  static constexpr std::uint32_t kPageLines = 4096 / Lines::kBytes;

  void count_eviction(const Slot& bucket, Instant now) {
    ++memory_.counts().evictions;
    if (bucket.denies(now)) ++memory_.counts().forgotten;
  }
  bool make_room(Instant now, bool must_grow);
  enum class Rebuilt : std::uint8_t { kDone, kNoMemory, kOverflow };
  Rebuilt rebuild(std::uint32_t count, Instant now);
  bool move_to(const Lines& next, Slot* bucket, Instant now,
               TableCounts* counts);

  Memory memory_;
};

template <typename Slot, typename Memory>
[[gnu::noinline]] bool SlotTable<Slot, Memory>::insert(
    Slot bucket, Instant now, std::span<const std::uint64_t> keep) {
  const std::uint64_t tag = bucket.tag;
  const std::uint64_t forgotten = memory_.counts().forgotten;
  Slot* slot = lines().find_free(tag, now);
  if (slot != nullptr && slot->tag == 0 &&
      memory_.counts().used >= memory_.counts().sweep_at) {
    if (make_room(now, false)) slot = lines().find_free(tag, now);
  }
  // A sweep does not help if a window is full and the table cannot grow.
  while (slot == nullptr && lines().count < memory_.max_lines() &&
         memory_.may_grow() && make_room(now, true)) {
    slot = lines().find_free(tag, now);
  }
  if (slot == nullptr) {
    slot = lines().find_victim(tag, now, keep);
    evict(slot == nullptr ? &bucket : slot, now);
  }
  if (slot != nullptr) {
    if (slot->tag == 0) ++memory_.counts().used;
    memory_.discard(slot);
    memory_.write(slot, bucket);
  }
  return memory_.counts().forgotten != forgotten;
}

// Forgets full buckets, and grows if that is not enough or `must_grow`.
// Returns whether the table was rebuilt.
template <typename Slot, typename Memory>
bool SlotTable<Slot, Memory>::make_room(Instant now, bool must_grow) {
  const std::uint32_t before = lines().count;
  const std::uint32_t most = memory_.max_lines();
  const std::int64_t buckets = live(now);
  std::uint32_t more = 0;
  // Below three fifths the windows have enough room once full buckets are gone.
  // If one window is full anyway, a small shift is enough.
  if (5 * buckets >= 3 * std::int64_t{before} * Lines::kSlots) {
    more = std::max(before / 4, kPageLines);
  } else if (must_grow) {
    more = std::max(before / 16, kPageLines);
  }
  std::uint32_t count = std::min(before + more, most);
  Rebuilt rebuilt = Rebuilt::kOverflow;
  if (count > before || buckets < memory_.counts().used) {
    while ((rebuilt = rebuild(count, now)) == Rebuilt::kOverflow &&
           count < most) {
      count = std::min(count + std::max(count / 16, kPageLines), most);
    }
  }
  TableCounts& counts = memory_.counts();
  const std::uint32_t slots = lines().count * Lines::kSlots;
  if (rebuilt == Rebuilt::kNoMemory) memory_.grow_after(slots / 8);
  // The next sweep waits until an eighth of the slots was taken.
  counts.sweep_at = std::max(slots - slots / 4, counts.used + slots / 8);
  return rebuilt == Rebuilt::kDone;
}

// Moves the buckets with a debt to a table of `count` lines.  Changes nothing
// if there is no memory, or if a window would overflow that might fit in a
// larger table.
template <typename Slot, typename Memory>
typename SlotTable<Slot, Memory>::Rebuilt SlotTable<Slot, Memory>::rebuild(
    std::uint32_t count, Instant now) {
  typename Memory::Successor successor = memory_.successor(count);
  const Lines next = successor.lines;
  if (next.count == 0) return Rebuilt::kNoMemory;
  TableCounts counts = memory_.counts();
  counts.used = 0;
  const Lines all = lines();
  for (std::uint32_t line = 0; line < all.count; ++line) {
    for (std::uint32_t i = 0; i < Lines::kSlots; ++i) {
      Slot* const bucket = &all.line(line)[i];
      if (bucket->tag == 0) continue;
      if (bucket->is_over(now)) {
        memory_.discard(bucket);
      } else if (!move_to(next, bucket, now, &counts)) {
        return Rebuilt::kOverflow;
      }
    }
  }
  memory_.replace(std::move(successor));
  memory_.counts() = counts;
  return Rebuilt::kDone;
}

// Copies a bucket of this table to its place in `next`, the lines of another.
template <typename Slot, typename Memory>
bool SlotTable<Slot, Memory>::move_to(const Lines& next, Slot* bucket,
                                      Instant now, TableCounts* counts) {
  Slot* slot = next.find_free(bucket->tag, now);
  if (slot == nullptr) {
    if (next.count < memory_.max_lines()) return false;
    slot = next.find_victim(bucket->tag, now, {});
    Slot* const loser = slot->share(now) >= bucket->share(now) ? bucket : slot;
    ++counts->evictions;
    if (loser->denies(now)) ++counts->forgotten;
    memory_.discard(loser);
    if (loser == bucket) return true;
  }
  if (slot->tag == 0) ++counts->used;
  *slot = *bucket;
  return true;
}

}  // namespace limitree
