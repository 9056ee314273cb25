// Large arrays on large pages, if the system has them: access at random then
// costs one cache miss, and not another one to translate the address.

#ifndef LIMITREE_TREE_HUGE_PAGES_HPP
#define LIMITREE_TREE_HUGE_PAGES_HPP

#include <sys/mman.h>

#include <cstddef>
#include <new>

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

}  // namespace limitree

#endif  // LIMITREE_TREE_HUGE_PAGES_HPP
