// The memory of a table in a mapped file: see buckets/slot_table.hpp.
//
// A value, made for each use: which file, and which words and lines of it.

#pragma once

#include <cstdint>

#include "store/buckets/bucket.hpp"
#include "store/buckets/slot_table.hpp"
#include "store/shared/layout.hpp"
#include "store/shared/mapped_file.hpp"

namespace limitree::shared {

template <typename Slot>
class MappedLines {
 public:
  using Lines = SlotLines<Slot>;

  // The lines of the other half, zeroed.
  struct Successor {
    Lines lines;
    std::uint64_t half;
  };

  // Half A is at `begin` in the file, and half B follows it.
  MappedLines(MappedFile* file, TableWords* words, std::uint64_t begin,
              std::uint32_t max_lines)
      : file_(file), words_(words), begin_(begin), max_lines_(max_lines) {}

  [[gnu::always_inline]] Lines lines() const {
    const std::uint64_t place = words_->place.load(std::memory_order_relaxed);
    const auto count = static_cast<std::uint32_t>(place);
    if (count > max_lines_) [[unlikely]]
      return {};
    return {slots(place >> 32), count};
  }
  std::uint32_t max_lines() const { return max_lines_; }
  TableCounts& counts() { return words_->counts; }
  const TableCounts& counts() const { return words_->counts; }

  Successor successor(std::uint32_t count) {
    const std::uint64_t half = 1 - this->half();
    empty(half);
    if (!file_->take(offset(half), count * std::uint64_t{Lines::kBytes})) {
      return {{}, half};
    }
    return {{slots(half), count}, half};
  }
  void replace(const Successor& successor) {
    const std::uint64_t before = half();
    words_->place.store(successor.half << 32 | successor.lines.count,
                        std::memory_order_release);
    empty(before);
  }
  void grow_after(std::uint32_t evictions) {
    words_->retry_at = words_->counts.evictions + evictions;
  }
  bool may_grow() const {
    // The second part is true of a file whose words are damaged.
    return words_->counts.evictions >= words_->retry_at ||
           words_->retry_at - words_->counts.evictions > max_lines_;
  }
  void clear() {
    words_->place.store(0, std::memory_order_release);
    words_->counts.used = 0;
    words_->counts.sweep_at = 0;
    empty(0);
    empty(1);
  }

  void write(Slot* slot, const Slot& value) { slot->become(value); }
  void discard(Slot* /*slot*/) {}

  // Counts the slots, and frees what a rebuild has left.
  void repair() {
    if (static_cast<std::uint32_t>(words_->place.load()) > max_lines_) clear();
    std::uint32_t used = 0;
    lines().each([&used](const Slot*) { ++used; });
    words_->counts.used = used;
    empty(1 - half());
  }

 protected:
  MappedFile* file() const { return file_; }
  std::uint64_t slot_offset(const Slot* slot) const {
    return static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(slot) -
                                      file_->at(0));
  }

 private:
  std::uint64_t half() const { return words_->place.load() >> 32 & 1; }
  std::uint64_t half_bytes() const {
    constexpr std::uint64_t kPageLines = kPage / Lines::kBytes;
    return (max_lines_ + kPageLines - 1) / kPageLines * kPage;
  }
  std::uint64_t offset(std::uint64_t half) const {
    return begin_ + (half & 1) * half_bytes();
  }
  Slot* slots(std::uint64_t half) const {
    return reinterpret_cast<Slot*>(file_->at(offset(half)));
  }
  void empty(std::uint64_t half) {
    file_->give_back(offset(half), half_bytes());
  }

  MappedFile* file_;
  TableWords* words_;
  std::uint64_t begin_;
  std::uint32_t max_lines_;
};

using MappedBuckets = SlotTable<Bucket, MappedLines<Bucket>>;

}  // namespace limitree::shared

namespace limitree {

extern template class SlotTable<Bucket, shared::MappedLines<Bucket>>;

}  // namespace limitree
