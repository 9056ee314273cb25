// The operator new of a program in which memory can run out: after so many
// allocations.  For one file of a program that has COUNTS_NEW.

#pragma once

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>

namespace limitree {

inline long g_allocations_left = std::numeric_limits<long>::max();

// Null if there is none left.
inline void* try_allocate(std::size_t size, std::size_t alignment) {
  if (g_allocations_left <= 0) return nullptr;
  --g_allocations_left;
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, size == 0 ? 1 : size) != 0) {
    return nullptr;
  }
  return memory;
}

inline void* allocate(std::size_t size, std::size_t alignment) {
  void* const memory = try_allocate(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace limitree

void* operator new(std::size_t size) {
  return limitree::allocate(size, alignof(std::max_align_t));
}
void* operator new[](std::size_t size) {
  return limitree::allocate(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return limitree::allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return limitree::allocate(size, static_cast<std::size_t>(alignment));
}
// std::stable_sort asks for a buffer in this way.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return limitree::try_allocate(size, alignof(std::max_align_t));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
