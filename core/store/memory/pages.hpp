// Zeroed memory straight from the operating system.
//
// Tables that grow by a quarter at a time would leave the heap of an allocator
// full of holes that are just too small for the next table.

#ifndef LIMITREE_STORE_MEMORY_PAGES_HPP
#define LIMITREE_STORE_MEMORY_PAGES_HPP

#include <sys/mman.h>

#include <cstddef>
#include <utility>

namespace limitree {

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

}  // namespace limitree

#endif  // LIMITREE_STORE_MEMORY_PAGES_HPP
