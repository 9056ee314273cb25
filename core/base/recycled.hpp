// Memory for objects that come and go by the thousand and are too large for the
// allocator's own lists of free blocks: glibc keeps blocks of up to 1 KiB.

#pragma once

#include <cstddef>
#include <new>

namespace limitree {

// A base of T that keeps up to kMost freed blocks per thread and uses them
// again in that thread.
//
// A thread frees its blocks when it ends.  After fork() the thread of the child
// keeps the blocks it had.
template <typename T, std::size_t kMost>
class Recycled {
 public:
  static void* operator new(std::size_t size) {
    if (size != sizeof(T) || spare_blocks == nullptr)
      return ::operator new(size);
    Block* const block = spare_blocks;
    spare_blocks = block->next;
    --spare_count;
    // The next one may have left the cache since it was freed.
    __builtin_prefetch(spare_blocks);
    return block;
  }

  static void operator delete(void* memory, std::size_t size) {
    if (size != sizeof(T) || spare_count == kMost || kOff) {
      ::operator delete(memory);
      return;
    }
    spare_sweeper.arm();
    spare_blocks = new (memory) Block{spare_blocks};
    ++spare_count;
  }

 protected:
  Recycled() = default;
  ~Recycled() = default;

 private:
  struct Block {
    Block* next;
  };

  // Frees the blocks of a thread when it ends.  Blocks that static objects free
  // even later are not kept.
  struct Sweeper {
    ~Sweeper() {
      while (spare_blocks != nullptr) {
        Block* const block = spare_blocks;
        spare_blocks = block->next;
        ::operator delete(block);
      }
      spare_count = kMost;
    }
    void arm() {}  // naming it creates it, and so destroys it at the end
  };

#if defined(__SANITIZE_ADDRESS__)
  static constexpr bool kOff = true;  // else ASan would miss a use after free
#elif defined(__has_feature)
  static constexpr bool kOff = __has_feature(address_sanitizer);
#else
  static constexpr bool kOff = false;
#endif

  // Without destructors, so that they stay valid until the thread has ended.
  static constinit thread_local inline Block* spare_blocks = nullptr;
  static constinit thread_local inline std::size_t spare_count = 0;
  static thread_local inline Sweeper spare_sweeper;
};

}  // namespace limitree
