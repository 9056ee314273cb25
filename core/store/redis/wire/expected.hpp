// The replies that are to come, in the order in which they will.

#ifndef LIMITREE_STORE_REDIS_WIRE_EXPECTED_HPP
#define LIMITREE_STORE_REDIS_WIRE_EXPECTED_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "store/redis/wire/joint.hpp"

namespace limitree::redis {

struct Expected {
  Command* command;     // null: nobody waits for it
  bool asking;          // to the ASKING before the next one
  std::uint64_t begin;  // where the bytes that it answers lie in the Outbox
  std::uint64_t end;
  std::unique_ptr<Joint> joint;  // the command, if it is one
};

class ExpectedQueue {
 public:
  bool empty() const { return first_ == all_.size(); }
  Expected& front() { return all_[first_]; }
  Expected* begin() { return all_.data() + first_; }
  Expected* end() { return all_.data() + all_.size(); }

  void push(Expected expected) { all_.push_back(std::move(expected)); }

  void pop() {
    ++first_;
    // What is left moves up when it is less than what has gone, so that each
    // takes one step in the mean; and seldom, for the sake of a short queue.
    const bool many_left = 2 * first_ < all_.size();
    if (!empty() && (first_ < 64 || many_left)) return;
    all_.erase(all_.begin(), all_.begin() + offset(begin()));
    first_ = 0;
  }

  void erase(Expected* from, Expected* to) {
    all_.erase(all_.begin() + offset(from), all_.begin() + offset(to));
  }

 private:
  std::ptrdiff_t offset(const Expected* at) const { return at - all_.data(); }

  std::vector<Expected> all_;
  std::size_t first_ = 0;
};

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_WIRE_EXPECTED_HPP
