// How much memory the connections of one loop may hold for their clients.

#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

namespace limitree::server {

// All bytes of a loop, and how many connections hold some of them.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::size_t most = 256 * 1024 * 1024) : most_(most) {}

  void set_most(std::size_t bytes) { most_ = bytes; }
  std::size_t used() const { return used_; }
  // The most that has been used since the last call.
  std::size_t take_peak() { return std::exchange(peak_, used_); }

 private:
  friend class MemoryShare;

  std::size_t most_;
  std::size_t used_ = 0;
  std::size_t peak_ = 0;
  std::size_t holders_ = 0;
};

// The part of one connection.  When the budget is used up, as much again is
// there for connections that hold no more than an equal part of what is left of
// it.  So a client that holds little does not notice one that holds much, and
// all connections together hold at most twice the budget, besides kOwn bytes
// for each.
class MemoryShare {
 public:
  // What a connection may hold in any case: a few calls.
  static constexpr std::size_t kOwn = 16 * 1024;

  explicit MemoryShare(MemoryBudget* budget) : budget_(budget) {}
  ~MemoryShare() { give(used_); }
  MemoryShare(const MemoryShare&) = delete;
  MemoryShare& operator=(const MemoryShare&) = delete;

  // Whether the connection must not take more.
  bool is_used_up() const {
    const std::size_t all = 2 * budget_->most_;
    return budget_->used_ > budget_->most_ && used_ > kOwn &&
           used_ * budget_->holders_ > all - std::min(all, budget_->used_);
  }

  void take(std::size_t bytes) {
    if (used_ == 0 && bytes > 0) ++budget_->holders_;
    used_ += bytes;
    budget_->used_ += bytes;
    budget_->peak_ = std::max(budget_->peak_, budget_->used_);
  }
  void give(std::size_t bytes) {
    if (used_ == bytes && bytes > 0) --budget_->holders_;
    used_ -= bytes;
    budget_->used_ -= bytes;
  }
  // Takes `bytes` instead of `before`, which it has taken earlier.
  void change(std::size_t before, std::size_t bytes) {
    give(before);
    take(bytes);
  }

 private:
  MemoryBudget* budget_;
  std::size_t used_ = 0;
};

}  // namespace limitree::server
