// A vector whose first N elements need no allocation.
//
// One request touches a handful of segments and levels; they live on the
// caller's stack.  Only longer sequences go to the heap.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

namespace limitree {

// Elements move when it grows: keep indices, not pointers, while appending.
template <typename T, std::size_t N>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T>);
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  InlineVector() = default;
  explicit InlineVector(std::size_t size) { resize(size); }
  InlineVector(const InlineVector&) = delete;
  InlineVector& operator=(const InlineVector&) = delete;

  void push_back(const T& value) { emplace_back(value); }

  // Constructs the element in place: copying what was just written would cost
  // more than the rest of the push.
  template <typename... Args>
  T& emplace_back(Args&&... args) {
    if (size_ == capacity_) [[unlikely]]
      grow(size_ + 1);
    T* const place = new (data_ + size_) T{std::forward<Args>(args)...};
    ++size_;
    return *place;
  }

  // Appends an element without initializing it, for large elements of which
  // only a part is set at first.
  T& append() {
    resize(size_ + 1);
    return back();
  }

  // Sets the size.  New elements are not initialized.
  void resize(std::size_t size) {
    if (size > capacity_) [[unlikely]]
      grow(size);
    size_ = size;
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

 private:
  void grow(std::size_t size) {
    const std::size_t capacity = std::max(size, 2 * capacity_);
    // T is plain data, so a copy of the old elements is enough.
    auto larger = std::make_unique<std::byte[]>(capacity * sizeof(T));
    std::memcpy(larger.get(), static_cast<const void*>(data_),
                size_ * sizeof(T));
    heap_ = std::move(larger);
    data_ = reinterpret_cast<T*>(heap_.get());
    capacity_ = capacity;
  }

  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

  alignas(T) std::byte inline_[N * sizeof(T)];
  std::unique_ptr<std::byte[]> heap_;
  T* data_ = reinterpret_cast<T*>(inline_);
  std::size_t size_ = 0;
  std::size_t capacity_ = N;
};

// N elements that are not initialized.  The compiler unrolls loops over it.
template <typename T, std::size_t N>
class RawArray {
  static_assert(std::is_trivially_copyable_v<T>);
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  explicit RawArray(std::size_t /*size*/) {}

  static constexpr std::size_t size() { return N; }
  T& operator[](std::size_t i) { return reinterpret_cast<T*>(room_)[i]; }

 private:
  alignas(T) std::byte room_[N * sizeof(T)];
};

}  // namespace limitree
