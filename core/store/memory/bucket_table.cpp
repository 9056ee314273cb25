#include "store/memory/bucket_table.hpp"

#include <algorithm>

#include "store/memory/cell.hpp"

namespace limitree {

namespace {

constexpr std::int64_t kLineBytes = 64;
constexpr std::uint32_t kPageLines = 4096 / kLineBytes;

}  // namespace

template <typename Slot>
bool SlotTable<Slot>::insert(Slot bucket, Instant now,
                             std::span<const std::uint64_t> keep) {
  const std::uint64_t tag = bucket.tag;
  const std::int64_t forgotten = forgotten_limited_;
  Slot* slot = find_free(tag, now);
  if (slot != nullptr && slot->tag == 0 && used_ >= sweep_at_) {
    if (make_room(now, false)) slot = find_free(tag, now);
  }
  // A sweep does not help if a window is full and the table cannot grow.
  while (slot == nullptr && lines_ < max_lines_ && make_room(now, true)) {
    slot = find_free(tag, now);
  }
  if (slot == nullptr) {
    slot = find_victim(tag, now, keep);
    evict(slot == nullptr ? &bucket : slot, now);
    if (slot == nullptr) return forgotten_limited_ != forgotten;
  }
  if (slot->tag == 0) ++used_;
  slot->discard();
  *slot = bucket;
  return forgotten_limited_ != forgotten;
}

template <typename Slot>
Slot* SlotTable<Slot>::find_free(std::uint64_t tag, Instant now) const {
  if (lines_ == 0) return nullptr;
  std::uint32_t line = home_line(tag);
  for (std::uint32_t n = window(); n != 0; --n) {
    Slot* const slots = slots_of(line);
    for (std::uint32_t i = 0; i < kSlotsPerLine; ++i) {
      if (slots[i].tag == 0 || slots[i].is_over(now)) return &slots[i];
    }
    if (++line == lines_) line = 0;
  }
  return nullptr;
}

template <typename Slot>
Slot* SlotTable<Slot>::find_victim(std::uint64_t tag, Instant now,
                                   std::span<const std::uint64_t> keep) const {
  if (lines_ == 0) return nullptr;
  Slot* victim = nullptr;
  float least = 0;
  std::uint32_t line = home_line(tag);
  for (std::uint32_t n = window(); n != 0; --n) {
    for (std::uint32_t i = 0; i < kSlotsPerLine; ++i) {
      Slot& slot = slots_of(line)[i];
      const float share = slot.share(now);
      if (victim != nullptr && share >= least) continue;
      const auto is_it = [&](std::uint64_t one) { return slot.is_of(one); };
      if (std::ranges::any_of(keep, is_it)) continue;
      victim = &slot;
      least = share;
    }
    if (++line == lines_) line = 0;
  }
  return victim;
}

template <typename Slot>
void SlotTable<Slot>::evict(Slot* bucket, Instant now) {
  ++evictions_;
  if (bucket->denies(now)) ++forgotten_limited_;
  bucket->discard();
}

// Forgets full buckets, and grows if that is not enough or `must_grow`.
// Returns whether the table was rebuilt.
template <typename Slot>
bool SlotTable<Slot>::make_room(Instant now, bool must_grow) {
  const std::int64_t buckets = live(now);
  std::uint32_t more = 0;
  // Below three fifths the windows have enough room once full buckets are gone.
  // If one window is full anyway, a small shift is enough.
  if (5 * buckets >= 3 * std::int64_t{lines_} * kSlotsPerLine) {
    more = std::max(lines_ / 4, kPageLines);
  } else if (must_grow) {
    more = std::max(lines_ / 16, kPageLines);
  }
  std::uint32_t lines = std::min(lines_ + more, max_lines_);
  bool rebuilt = false;
  if (lines > lines_ || buckets < used_) {
    while (!(rebuilt = rebuild(lines, now)) && lines < max_lines_) {
      lines = std::min(lines + std::max(lines / 16, kPageLines), max_lines_);
    }
  }
  const std::uint32_t slots = lines_ * kSlotsPerLine;
  // The next sweep waits until an eighth of the slots was taken.
  sweep_at_ = std::max(slots - slots / 4, used_ + slots / 8);
  return rebuilt;
}

// Moves the buckets with a debt to a table of `lines`.  Returns false, and
// changes nothing, if there is no memory, or if a window would overflow that
// might fit in a larger table.
template <typename Slot>
bool SlotTable<Slot>::rebuild(std::uint32_t lines, Instant now) {
  SlotTable next(max_lines_);
  next.pages_ = Pages(lines * std::size_t{kLineBytes});
  if (next.pages_.data() == nullptr) return false;
  next.lines_ = lines;
  for (std::uint32_t line = 0; line < lines_; ++line) {
    for (std::uint32_t i = 0; i < kSlotsPerLine; ++i) {
      Slot& bucket = slots_of(line)[i];
      if (bucket.tag == 0) continue;
      if (bucket.is_over(now)) {
        bucket.discard();
        continue;
      }
      Slot* slot = next.find_free(bucket.tag, now);
      if (slot == nullptr) {
        if (lines < max_lines_) {
          next.lines_ = 0;  // it does not own its content
          return false;
        }
        slot = next.find_victim(bucket.tag, now, {});
        if (slot->share(now) >= bucket.share(now)) {
          next.evict(&bucket, now);
          continue;
        }
        next.evict(slot, now);
      }
      if (slot->tag == 0) ++next.used_;
      *slot = bucket;
    }
  }
  pages_ = std::move(next.pages_);
  next.lines_ = 0;
  lines_ = lines;
  used_ = next.used_;
  evictions_ += next.evictions_;
  forgotten_limited_ += next.forgotten_limited_;
  return true;
}

template <typename Slot>
void SlotTable<Slot>::discard_all() {
  if constexpr (Slot::kOwns) {
    for (std::uint32_t line = 0; line < lines_; ++line) {
      for (std::uint32_t i = 0; i < kSlotsPerLine; ++i) {
        slots_of(line)[i].discard();
      }
    }
  }
}

template <typename Slot>
void SlotTable<Slot>::clear() {
  discard_all();
  pages_ = Pages();
  lines_ = 0;
  used_ = 0;
  sweep_at_ = 0;
}

template <typename Slot>
std::int64_t SlotTable<Slot>::live(Instant now) const {
  if (lines_ == 0) return 0;
  const Slot* const begin = slots_of(0);
  return std::count_if(begin, begin + std::size_t{lines_} * kSlotsPerLine,
                       [now](const Slot& bucket) {
                         return bucket.tag != 0 && !bucket.is_over(now);
                       });
}

template <typename Slot>
std::int64_t SlotTable<Slot>::bytes() const {
  const std::int64_t pages = (lines_ + kPageLines - 1) / kPageLines;
  return pages * kPageLines * kLineBytes;
}

template class SlotTable<Bucket>;
template class SlotTable<Cell>;

}  // namespace limitree
