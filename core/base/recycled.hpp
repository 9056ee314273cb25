// Memory for objects that come and go by the thousand and are too large for
// what allocators keep at hand: glibc keeps blocks of up to 1 KiB.

#ifndef LIMITREE_BASE_RECYCLED_HPP
#define LIMITREE_BASE_RECYCLED_HPP

#include <cstddef>
#include <new>

namespace limitree {

// A base of T whose blocks stay with the thread that frees them, up to kMost of
// them, and are given out again there.
//
// A thread that ends frees its own.  In the child of a fork() the thread that
// is left has what it had.
template <typename T, std::size_t kMost>
class Recycled {
 public:
  static void* operator new(std::size_t size) {
    if (size != sizeof(T) || spare_blocks == nullptr)
      return ::operator new(size);
    Block* const block = spare_blocks;
    spare_blocks = block->next;
    --spare_count;
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

  // Frees what a thread has kept, at its end; what is freed after that, by the
  // end of a static object, is not kept any more.
  struct Sweeper {
    ~Sweeper() {
      while (spare_blocks != nullptr) {
        Block* const block = spare_blocks;
        spare_blocks = block->next;
        ::operator delete(block);
      }
      spare_count = kMost;
    }
    void arm() {}  // to name it is what makes it, and has it end
  };

#if defined(__SANITIZE_ADDRESS__)
  static constexpr bool kOff = true;  // or it would not see a use after the end
#elif defined(__has_feature)
  static constexpr bool kOff = __has_feature(address_sanitizer);
#else
  static constexpr bool kOff = false;
#endif

  // Without destructors, so that they can be looked at as long as the thread
  // runs.
  static constinit thread_local inline Block* spare_blocks = nullptr;
  static constinit thread_local inline std::size_t spare_count = 0;
  static thread_local inline Sweeper spare_sweeper;
};

}  // namespace limitree

#endif  // LIMITREE_BASE_RECYCLED_HPP
