// Counts allocations, with operators new and delete of the program's own.  For
// the one source of a program that is made with COUNTS_NEW.

#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::size_t allocations = 0;

}  // namespace

// Inlined, new and delete look mismatched to gcc.
__attribute__((noinline)) void* operator new(std::size_t size) {
  ++allocations;
  if (void* const place = std::malloc(size)) return place;
  throw std::bad_alloc();
}
__attribute__((noinline)) void* operator new(std::size_t size,
                                             const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size);
}
__attribute__((noinline)) void operator delete(void* place) noexcept {
  std::free(place);
}
__attribute__((noinline)) void operator delete(void* place,
                                               std::size_t) noexcept {
  std::free(place);
}
