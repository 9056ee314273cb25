// A map of ids to numbers, for a million and more ids: filled once, then only
// read.
//
// An id of up to 24 bytes is in its slot, which is half a cache line.  A lookup
// reads one line, or two adjacent ones.

#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <vector>

namespace limitree {

// An allocator for std::vector.  Small arrays come from the heap.
template <typename T>
class HugePages {
 public:
  using value_type = T;

  HugePages() = default;
  template <typename U>
  explicit HugePages(const HugePages<U>&) {}

  T* allocate(std::size_t count) {
    const std::size_t size = count * sizeof(T);
    void* const place = ::operator new(size, alignment(size));
#ifdef MADV_HUGEPAGE
    // Only a hint: without it the array is slower, but works.
    if (size >= kLeast) madvise(place, size, MADV_HUGEPAGE);
#endif
    return static_cast<T*>(place);
  }
  void deallocate(T* place, std::size_t count) {
    ::operator delete(place, alignment(count * sizeof(T)));
  }

  friend bool operator==(const HugePages&, const HugePages&) { return true; }

 private:
  static constexpr std::size_t kPage = std::size_t{2} << 20;
  static constexpr std::size_t kLeast = 4 * kPage;

  static std::align_val_t alignment(std::size_t size) {
    return std::align_val_t{size >= kLeast ? kPage : alignof(T)};
  }
};

// The hash of a name, here and in Nodes::slots.
std::uint32_t name_hash(std::string_view name);

class IdTable {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // Makes room for `ids` ids.
  void reserve(std::size_t ids);

  // Adds `id`; false if it is there already.  REQUIRES: value != kNone.
  bool insert(std::string_view id, std::uint32_t value);

  // Frees unused room.  Do not call insert() afterwards.
  void finish();

  // The value of `id`; kNone if `id` is not in the table.
  std::uint32_t find(std::string_view id) const;

  std::size_t size() const { return size_; }
  std::size_t bytes() const;

 private:
  static constexpr std::size_t kInline = 24;

  // Longer ids are in text_.  The slot then holds their position and hash.
  struct Elsewhere {
    std::uint64_t first;
    std::uint32_t hash;
  };
  struct alignas(32) Slot {
    std::uint32_t value = kNone;  // kNone: free
    std::uint32_t size = 0;
    union {
      char bytes[kInline];
      Elsewhere elsewhere;
    };

    Slot() : bytes{} {}
  };
  static_assert(sizeof(Slot) == 32);

  std::size_t home(std::uint32_t hash) const {
    return static_cast<std::size_t>(std::uint64_t{hash} * slots_.size() >> 32);
  }
  bool holds(const Slot& slot, std::string_view id, std::uint32_t hash) const;
  void resize(std::size_t slots);

  using Slots = std::vector<Slot, HugePages<Slot>>;

  Slots slots_;
  std::string text_;
  std::size_t size_ = 0;
};

}  // namespace limitree
