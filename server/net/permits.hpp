// How many connections a process takes at a time, on all of its threads.

#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

namespace limitree::server {

// Outlives its permits.
class Permits {
 public:
  struct GiveBack {
    void operator()(Permits* permits) const { permits->taken_.fetch_sub(1); }
  };

  explicit Permits(std::size_t count) : count_(count) {}

  std::size_t count() const { return count_; }

  // Null if all are taken.
  std::unique_ptr<Permits, GiveBack> take() {
    const bool is_free = taken_.fetch_add(1) < count_;
    if (!is_free) taken_.fetch_sub(1);
    return std::unique_ptr<Permits, GiveBack>(is_free ? this : nullptr);
  }

 private:
  const std::size_t count_;
  std::atomic<std::size_t> taken_ = 0;
};

// The permit of one connection, or null.
using Permit = std::unique_ptr<Permits, Permits::GiveBack>;

}  // namespace limitree::server
