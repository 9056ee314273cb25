// Memory for objects that come and go with each request, in one thread.
//
// The C library has lists of free blocks for each thread.  With many requests
// at a time there are more blocks than these lists keep.

#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <span>
#include <type_traits>

namespace limitree::server {

// Keeps blocks that are given back, and reuses them.  A block may be given back
// to a different BlockMemory than it was taken from.
class BlockMemory {
 public:
  static BlockMemory& of_thread();

  BlockMemory() = default;
  ~BlockMemory();
  BlockMemory(const BlockMemory&) = delete;
  BlockMemory& operator=(const BlockMemory&) = delete;

  // These do what malloc, calloc, realloc and free do.
  void* take(std::size_t size) noexcept;
  void* take_zeros(std::size_t count, std::size_t size) noexcept;
  void* change(void* memory, std::size_t size) noexcept;
  void give(void* memory) noexcept;

 private:
  static constexpr std::size_t kUnit = 64;
  static constexpr std::size_t kMostUnits = 64;  // of a block that is kept
  static constexpr std::size_t kMostKept = 2 * 1024 * 1024 / kUnit;

  // The header before the memory that the caller sees.
  struct alignas(std::max_align_t) Block {
    std::size_t units;
    Block* next;  // only of those that are kept
  };

  std::array<Block*, kMostUnits + 1> kept_{};  // by their units: the first
  std::size_t kept_units_ = 0;                 // of all
};

// A base of classes whose objects use this memory.
class InBlockMemory {
 public:
  static void* operator new(std::size_t size) {
    void* const memory = BlockMemory::of_thread().take(size);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }
  static void operator delete(void* memory) {
    BlockMemory::of_thread().give(memory);
  }

 protected:
  ~InBlockMemory() = default;
};

// An array of numbers or similar elements in this memory, which are not
// initialized.
template <typename Element>
class BlockArray {
  static_assert(std::is_trivially_copyable_v<Element>);

 public:
  explicit BlockArray(std::size_t size) : size_(size) {
    void* const memory = BlockMemory::of_thread().take(size * sizeof(Element));
    if (memory == nullptr) throw std::bad_alloc();
    data_ = static_cast<Element*>(memory);
  }
  ~BlockArray() { BlockMemory::of_thread().give(data_); }
  BlockArray(const BlockArray&) = delete;
  BlockArray& operator=(const BlockArray&) = delete;

  std::span<Element> span() { return {data_, size_}; }

 private:
  Element* data_;
  std::size_t size_;
};

}  // namespace limitree::server
