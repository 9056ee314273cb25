// An immutable text that copies share.  It takes one pointer; an empty text is
// null, and needs no memory access.

#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace limitree {

class SharedText {
 public:
  SharedText() = default;
  explicit SharedText(std::string_view text)
      : shared_(text.empty() ? nullptr : new Shared(text)) {}
  SharedText(const SharedText& other) : shared_(other.shared_) {
    if (shared_ != nullptr) {
      shared_->owners.fetch_add(1, std::memory_order_relaxed);
    }
  }
  SharedText(SharedText&& other) noexcept
      : shared_(std::exchange(other.shared_, nullptr)) {}
  ~SharedText() {
    if (shared_ != nullptr &&
        shared_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete shared_;
    }
  }
  SharedText& operator=(SharedText other) noexcept {
    std::swap(shared_, other.shared_);
    return *this;
  }
  SharedText& operator=(std::string_view text) {
    return *this = SharedText(text);
  }

  bool empty() const { return shared_ == nullptr; }
  std::string_view view() const {
    return shared_ == nullptr ? std::string_view() : shared_->text;
  }
  std::string str() const { return std::string(view()); }

  friend bool operator==(const SharedText& a, const SharedText& b) {
    return a.shared_ == b.shared_ || a.view() == b.view();
  }
  friend bool operator==(const SharedText& a, std::string_view b) {
    return a.view() == b;
  }

 private:
  struct Shared {
    explicit Shared(std::string_view of) : text(of) {}
    std::atomic<std::uint32_t> owners{1};
    const std::string text;
  };

  Shared* shared_ = nullptr;
};

}  // namespace limitree
