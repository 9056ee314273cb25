// The entries of a log, in one block of memory, and a change of it.

#pragma once

#include <cstddef>
#include <cstdint>

#include "base/unit_log.hpp"

namespace limitree {

// Followed by room for entries.
class LogBlock {
 public:
  struct Head {
    std::int64_t sum = 0;     // units of the entries that count
    std::uint32_t room = 0;   // total entries
    std::uint32_t first = 0;  // oldest entry that counts
    std::uint32_t size = 0;   // entries that count
  };

  LogBlock() = default;  // no room
  explicit LogBlock(std::uint32_t room) { head_.room = room; }

  static constexpr std::int64_t bytes_for(std::uint32_t room) {
    return std::int64_t{sizeof(LogBlock)} +
           std::int64_t{sizeof(LogEntry)} * room;
  }
  std::int64_t bytes() const { return bytes_for(head_.room); }

  const Head& head() const { return head_; }
  LogEntry& entry(std::uint32_t place) {
    return reinterpret_cast<LogEntry*>(this + 1)[place];
  }
  const LogEntry& entry(std::uint32_t place) const {
    return reinterpret_cast<const LogEntry*>(this + 1)[place];
  }
  void set_head(const Head& head) { head_ = head; }

  // Copies the entries of `other` from its i-th on.  REQUIRES: there is room.
  void take(const LogBlock& other, std::size_t i) {
    const Head from = other.head_;  // in a damaged file they may overlap
    head_.sum = 0;
    head_.first = 0;
    head_.size = 0;
    for (auto at = static_cast<std::uint32_t>(i); at < from.size; ++at) {
      const LogEntry& one = other.entry(from.first + at);
      entry(head_.size++) = one;
      head_.sum += one.units();
    }
  }

 private:
  Head head_;
};
static_assert(alignof(LogEntry) <= alignof(LogBlock));

// What Log<LogEdit> makes of a block, written at once: write() of unit_log.hpp
// changes the head and no more than one of the entries that count after it.
class LogEdit {
 public:
  LogEdit() = default;  // uninitialized
  explicit LogEdit(const LogBlock* block)
      : block_(block), head_(block->head()), changed_(kNone) {}

  std::size_t size() const { return head_.size; }
  const LogEntry& operator[](std::size_t i) const {
    const std::uint32_t at = place(i);
    return at == changed_ ? entry_ : block_->entry(at);
  }
  std::int64_t sum() const { return head_.sum; }
  bool is_full() const { return head_.first + head_.size == head_.room; }

  void push_back(const LogEntry& entry) {  // REQUIRES: !is_full()
    set(place(head_.size++), entry);
    head_.sum += entry.units();
  }
  void pop_back() { drop(place(--head_.size)); }
  void pop_front() {
    drop(head_.first++);
    --head_.size;
  }
  void change_last(Instant at, std::int64_t more) {
    LogEntry entry = (*this)[head_.size - 1];
    entry.change(at, more);
    set(place(head_.size - 1), entry);
    head_.sum += more;
  }

  // The outcome: the head, and the entry that has changed, with its place in
  // the block, or kNone.
  static constexpr std::uint32_t kNone = UINT32_MAX;
  const LogBlock::Head& head() const { return head_; }
  std::uint32_t changed() const { return changed_; }
  const LogEntry& entry() const { return entry_; }

  void apply(LogBlock* block) const {
    if (changed_ != kNone) block->entry(changed_) = entry_;
    block->set_head(head_);
  }

 private:
  std::uint32_t place(std::size_t i) const {
    return head_.first + static_cast<std::uint32_t>(i);
  }
  void set(std::uint32_t at, const LogEntry& entry) {
    changed_ = at;
    entry_ = entry;
  }
  void drop(std::uint32_t at) {
    const bool is_changed = at == changed_;
    head_.sum -= (is_changed ? entry_ : block_->entry(at)).units();
    if (is_changed) changed_ = kNone;
  }

  const LogBlock* block_;
  LogBlock::Head head_;
  LogEntry entry_;
  std::uint32_t changed_;  // place in the block
};

}  // namespace limitree
