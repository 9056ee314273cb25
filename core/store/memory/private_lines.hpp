// The slots of tables in this process's memory.

#ifndef LIMITREE_STORE_MEMORY_PRIVATE_LINES_HPP
#define LIMITREE_STORE_MEMORY_PRIVATE_LINES_HPP

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "store/buckets/bucket.hpp"
#include "store/buckets/slot_table.hpp"

namespace limitree {

// Zeroed memory straight from the operating system.  Tables that grow by a
// quarter at a time would leave the heap of an allocator full of holes that are
// just too small for the next table.
class Pages {
 public:
  Pages() = default;

  // Takes `size` zeroed bytes, page-aligned. data() is null if there is no
  // memory.
  explicit Pages(std::size_t size) {
    void* const data = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) return;
    data_ = data;
    size_ = size;
  }
  Pages(Pages&& other) noexcept { swap(other); }
  Pages& operator=(Pages&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Pages() {
    if (data_ != nullptr) munmap(data_, size_);
  }

  void* data() const { return data_; }

 private:
  void swap(Pages& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  void* data_ = nullptr;
  std::size_t size_ = 0;
};

// The memory of a table: see slot_table.hpp.
template <typename Slot>
class PrivateLines {
 public:
  using Lines = SlotLines<Slot>;

  class Successor {
   public:
    explicit Successor(std::uint32_t count)
        : pages_(count * std::size_t{Lines::kBytes}),
          count_(pages_.data() == nullptr ? 0 : count) {}
    Lines lines() const { return {static_cast<Slot*>(pages_.data()), count_}; }

   private:
    friend class PrivateLines;
    Pages pages_;
    std::uint32_t count_;
  };

  // Takes no memory before the first slot is needed.  REQUIRES: max_lines > 0.
  PrivateLines(std::uint32_t max_lines)  // NOLINT: implicit
      : max_lines_(max_lines) {}

  Lines lines() const { return {static_cast<Slot*>(pages_.data()), count_}; }
  std::uint32_t max_lines() const { return max_lines_; }
  TableCounts& counts() { return counts_; }
  const TableCounts& counts() const { return counts_; }

  Successor successor(std::uint32_t count) { return Successor(count); }
  void replace(Successor successor) {
    pages_ = std::move(successor.pages_);
    count_ = successor.count_;
  }
  // This process cannot go on for long without memory anyway.
  static bool may_grow() { return true; }
  static void grow_after(std::uint32_t /*evictions*/) {}
  void clear() {
    pages_ = Pages();
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

#endif  // LIMITREE_STORE_MEMORY_PRIVATE_LINES_HPP
