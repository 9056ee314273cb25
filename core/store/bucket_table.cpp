#include "store/bucket_table.hpp"

#include <algorithm>

namespace limitree {

namespace {

constexpr std::int64_t kLineBytes = BucketTable::kSlotsPerLine * sizeof(Bucket);
constexpr std::uint32_t kPageLines = 4096 / kLineBytes;

}  // namespace

void BucketTable::insert(std::uint64_t tag, Instant tat, Instant now,
                         std::span<const std::uint64_t> keep) {
  Bucket* slot = find_free(tag, now);
  if (slot != nullptr && slot->tag == 0 && used_ >= sweep_at_) {
    if (make_room(now, false)) slot = find_free(tag, now);
  }
  // A full window of a table that cannot grow is not helped by a sweep.
  while (slot == nullptr && lines_ < max_lines_ && make_room(now, true)) {
    slot = find_free(tag, now);
  }
  if (slot == nullptr) {
    ++evictions_;
    slot = find_victim(tag, keep);
    if (slot == nullptr) return;
  }
  if (slot->tag == 0) ++used_;
  *slot = {tag, tat};
}

Bucket* BucketTable::find_free(std::uint64_t tag, Instant now) const {
  if (lines_ == 0) return nullptr;
  std::uint32_t line = home_line(tag);
  for (std::uint32_t n = window(); n != 0; --n) {
    Bucket* const slots = slots_of(line);
    for (std::uint32_t i = 0; i < kSlotsPerLine; ++i) {
      if (slots[i].tag == 0 || slots[i].tat <= now) return &slots[i];
    }
    if (++line == lines_) line = 0;
  }
  return nullptr;
}

Bucket* BucketTable::find_victim(std::uint64_t tag,
                                 std::span<const std::uint64_t> keep) const {
  if (lines_ == 0) return nullptr;
  Bucket* victim = nullptr;
  std::uint32_t line = home_line(tag);
  for (std::uint32_t n = window(); n != 0; --n) {
    Bucket* const slots = slots_of(line);
    for (std::uint32_t i = 0; i < kSlotsPerLine; ++i) {
      if (victim != nullptr && slots[i].tat >= victim->tat) continue;
      if (std::ranges::find(keep, slots[i].tag) != keep.end()) continue;
      victim = &slots[i];
    }
    if (++line == lines_) line = 0;
  }
  return victim;
}

// Forgets full buckets, and grows if that is not enough or `must_grow`.
// Returns whether the table was rebuilt.
bool BucketTable::make_room(Instant now, bool must_grow) {
  const std::int64_t buckets = live(now);
  std::uint32_t more = 0;
  // Below three fifths the windows have room enough once full buckets are gone;
  // where one is full all the same, it is enough to shift it a little.
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
  // Not again before an eighth of the slots has been taken since.
  sweep_at_ = std::max(slots - slots / 4, used_ + slots / 8);
  return rebuilt;
}

// Moves the buckets with a debt to a table of `lines`.  Returns false, and
// leaves everything as it is, if there is no memory or a window would overflow
// that a larger table might spare.
bool BucketTable::rebuild(std::uint32_t lines, Instant now) {
  BucketTable next(max_lines_);
  next.pages_ = Pages(lines * std::size_t{kLineBytes});
  if (next.pages_.data() == nullptr) return false;
  next.lines_ = lines;
  for (std::uint32_t line = 0; line < lines_; ++line) {
    for (std::uint32_t i = 0; i < kSlotsPerLine; ++i) {
      const Bucket& bucket = slots_of(line)[i];
      if (bucket.tag == 0 || bucket.tat <= now) continue;
      Bucket* slot = next.find_free(bucket.tag, now);
      if (slot == nullptr) {
        if (lines < max_lines_) return false;
        ++next.evictions_;
        slot = next.find_victim(bucket.tag, {});
        if (slot->tat >= bucket.tat) continue;
      }
      if (slot->tag == 0) ++next.used_;
      *slot = bucket;
    }
  }
  pages_ = std::move(next.pages_);
  lines_ = lines;
  used_ = next.used_;
  evictions_ += next.evictions_;
  return true;
}

void BucketTable::clear() {
  pages_ = Pages();
  lines_ = 0;
  used_ = 0;
  sweep_at_ = 0;
}

std::int64_t BucketTable::live(Instant now) const {
  if (lines_ == 0) return 0;
  const Bucket* const begin = slots_of(0);
  return std::count_if(begin, begin + std::size_t{lines_} * kSlotsPerLine,
                       [now](const Bucket& bucket) {
                         return bucket.tag != 0 && bucket.tat > now;
                       });
}

std::int64_t BucketTable::bytes() const {
  const std::int64_t pages = (lines_ + kPageLines - 1) / kPageLines;
  return pages * kPageLines * kLineBytes;
}

}  // namespace limitree
