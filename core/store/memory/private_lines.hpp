// The slots of tables in this process's memory.

#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "store/buckets/bucket.hpp"
#include "store/buckets/slot_table.hpp"

namespace limitree {

struct Unmap {
  void operator()(void* data) const { munmap(data, size); }

  std::size_t size = 0;
};

// Memory straight from the operating system.  Tables that grow by a quarter at
// a time would leave the heap of an allocator full of holes that are just too
// small for the next table.
using Pages = std::unique_ptr<void, Unmap>;

// Zeroed pages; null if there is no memory.
inline Pages map_pages(std::size_t size) {
  void* const data = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return data == MAP_FAILED ? Pages() : Pages(data, {size});
}

// The memory of a table: see slot_table.hpp.
template <typename Slot>
class PrivateLines {
 public:
  using Lines = SlotLines<Slot>;

  struct Successor {
    Lines lines;
    Pages pages;
  };

  // Takes no memory before the first slot is needed.  REQUIRES: max_lines > 0.
  PrivateLines(std::uint32_t max_lines)  // NOLINT: implicit
      : max_lines_(max_lines) {}

  Lines lines() const { return {static_cast<Slot*>(pages_.get()), count_}; }
  std::uint32_t max_lines() const { return max_lines_; }
  TableCounts& counts() { return counts_; }
  const TableCounts& counts() const { return counts_; }

  static Successor successor(std::uint32_t count) {
    Pages pages = map_pages(count * std::size_t{Lines::kBytes});
    if (pages == nullptr) return {};
    Slot* const slots = static_cast<Slot*>(pages.get());
    return {{slots, count}, std::move(pages)};
  }
  void replace(Successor successor) {
    pages_ = std::move(successor.pages);
    count_ = successor.lines.count;
  }
  // This process cannot go on for long without memory anyway.
  static bool may_grow() { return true; }
  static void grow_after(std::uint32_t /*evictions*/) {}
  void clear() {
    pages_ = {};
    count_ = 0;
    counts_.used = 0;
    counts_.sweep_at = 0;
  }

  void write(Slot* slot, const Slot& value) { *slot = value; }
  void discard(Slot* /*slot*/) {}

 private:
  Pages pages_;
  std::uint32_t count_ = 0;
  std::uint32_t max_lines_;
  TableCounts counts_;
};

using BucketTable = SlotTable<Bucket, PrivateLines<Bucket>>;
extern template class SlotTable<Bucket, PrivateLines<Bucket>>;

}  // namespace limitree
