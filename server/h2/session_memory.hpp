// Memory for the sessions of nghttp2 of one thread.
//
// nghttp2 takes eight blocks for each request.  With many requests at a time
// that is more than the lists of free blocks which the C library has for each
// thread keep.

#ifndef LIMITREE_SERVER_H2_SESSION_MEMORY_HPP
#define LIMITREE_SERVER_H2_SESSION_MEMORY_HPP

#include <array>
#include <cstddef>

namespace limitree::server {

// Keeps blocks that are given back, and uses them again.  Outlives its blocks.
class SessionMemory {
 public:
  SessionMemory() = default;
  ~SessionMemory();
  SessionMemory(const SessionMemory&) = delete;
  SessionMemory& operator=(const SessionMemory&) = delete;

  // These do what malloc, calloc, realloc and free do.
  void* take(std::size_t size) noexcept;
  void* take_zeros(std::size_t count, std::size_t size) noexcept;
  void* change(void* memory, std::size_t size) noexcept;
  void give(void* memory) noexcept;

 private:
  static constexpr std::size_t kUnit = 64;
  static constexpr std::size_t kKinds = 16;   // of 1 to 16 units
  static constexpr std::size_t kMost = 1024;  // blocks of each kind

  // Before the memory that nghttp2 sees.
  struct alignas(std::max_align_t) Block {
    std::size_t units;
    Block* next;  // only of those that are kept
  };

  struct Kept {
    Block* first = nullptr;
    std::size_t count = 0;
  };

  std::array<Kept, kKinds + 1> kept_;  // by units
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_H2_SESSION_MEMORY_HPP
