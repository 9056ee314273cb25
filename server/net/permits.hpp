// How many connections a process takes at a time, on all of its threads.

#ifndef LIMITREE_SERVER_NET_PERMITS_HPP
#define LIMITREE_SERVER_NET_PERMITS_HPP

#include <atomic>
#include <cstddef>
#include <utility>

namespace limitree::server {

class Permits;

// The permit of one connection, or none.
class Permit {
 public:
  Permit() = default;
  Permit(Permit&& other) noexcept
      : permits_(std::exchange(other.permits_, nullptr)) {}
  Permit& operator=(Permit&& other) noexcept {
    std::swap(permits_, other.permits_);
    return *this;
  }
  inline ~Permit();

  explicit operator bool() const { return permits_ != nullptr; }

 private:
  friend class Permits;
  explicit Permit(Permits* permits) : permits_(permits) {}

  Permits* permits_ = nullptr;
};

// Outlives its permits.
class Permits {
 public:
  explicit Permits(std::size_t count) : count_(count) {}

  std::size_t count() const { return count_; }

  // None if all are taken.
  Permit take() {
    if (taken_.fetch_add(1) < count_) return Permit(this);
    taken_.fetch_sub(1);
    return {};
  }

 private:
  friend class Permit;

  const std::size_t count_;
  std::atomic<std::size_t> taken_ = 0;
};

inline Permit::~Permit() {
  if (permits_ != nullptr) permits_->taken_.fetch_sub(1);
}

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_NET_PERMITS_HPP
