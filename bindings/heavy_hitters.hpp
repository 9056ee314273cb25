// The most frequent callers in a stream, in constant memory.
//
// Space-Saving: a fixed number of counters.  A caller without a counter takes
// over the smallest one, including its count.  With n counters and a total of
// t:
//
//   - count - error <= true count <= count, for every caller that is kept;
//   - error <= t / n;
//   - every caller that occurred more than t / n times is kept.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace limitree {

class HeavyHitters {
 public:
  // Longer texts are cut.  Callers are distinguished by the hash of the whole
  // text, of 64 bits.
  static constexpr std::size_t kMaxText = 200;

  struct Caller {
    std::string text;  // at most kMaxText bytes
    std::int64_t count;
    std::int64_t error;  // how much too large `count` may be
  };

  // REQUIRES: counters > 0.
  explicit HeavyHitters(std::size_t counters);

  void add(std::string_view text);

  std::int64_t total() const { return total_; }

  // No count is off by more than this.
  std::int64_t error_bound() const;

  // The `count` most frequent callers, in falling order.
  std::vector<Caller> top(std::size_t count) const;

 private:
  struct Counter {
    Caller caller;  // count 0: unused
    std::size_t hash;
    std::size_t heap_at;
  };
  struct Hashed {  // a hash is one already
    std::size_t operator()(std::size_t hash) const { return hash; }
  };

  std::size_t take_over(std::string_view text, std::size_t hash);
  void sink(std::size_t at);

  std::int64_t total_ = 0;
  std::vector<Counter> counters_;
  std::vector<std::size_t> heap_;  // of counters_, smallest first
  std::unordered_map<std::size_t, std::size_t, Hashed> by_hash_;
};

inline HeavyHitters::HeavyHitters(std::size_t counters)
    : counters_(counters), heap_(counters) {
  by_hash_.reserve(counters);
  // All counts are 0, so any order is a heap.
  std::iota(heap_.begin(), heap_.end(), std::size_t{0});
  for (std::size_t i = 0; i < counters; ++i) counters_[i].heap_at = i;
}

inline void HeavyHitters::add(std::string_view text) {
  const std::size_t hash = std::hash<std::string_view>()(text);
  const auto found = by_hash_.find(hash);
  const std::size_t index =
      found != by_hash_.end() ? found->second : take_over(text, hash);
  ++total_;
  ++counters_[index].caller.count;
  sink(counters_[index].heap_at);
}

inline std::int64_t HeavyHitters::error_bound() const {
  // An error is the smallest count at some earlier time, and that only grows.
  return counters_[heap_.front()].caller.count;
}

inline std::vector<HeavyHitters::Caller> HeavyHitters::top(
    std::size_t count) const {
  std::vector<Caller> callers;
  for (const Counter& counter : counters_) {
    if (counter.caller.count != 0) callers.push_back(counter.caller);
  }
  count = std::min(count, callers.size());
  const auto before = [](const Caller& a, const Caller& b) {
    // Ties are broken by text, so that equal input gives equal output.
    return std::tie(b.count, a.text) < std::tie(a.count, b.text);
  };
  std::partial_sort(callers.begin(),
                    callers.begin() + static_cast<std::ptrdiff_t>(count),
                    callers.end(), before);
  callers.resize(count);
  return callers;
}

// Gives the smallest counter to a caller without a counter.
inline std::size_t HeavyHitters::take_over(std::string_view text,
                                           std::size_t hash) {
  const std::size_t index = heap_.front();
  Counter& counter = counters_[index];
  std::string kept(text.substr(0, kMaxText));  // may throw: nothing changed yet
  if (counter.caller.count == 0) {
    by_hash_.emplace(hash, index);
  } else {  // the node of the map is reused
    auto node = by_hash_.extract(counter.hash);
    node.key() = hash;
    by_hash_.insert(std::move(node));
  }
  counter.caller.error = counter.caller.count;
  counter.caller.text = std::move(kept);
  counter.hash = hash;
  return index;
}

// Moves the counter at heap_[at], which has grown, down to its place.
inline void HeavyHitters::sink(std::size_t at) {
  const auto count = [&](std::size_t place) {
    return counters_[heap_[place]].caller.count;
  };
  for (;;) {
    std::size_t least = at;
    for (std::size_t child = 2 * at + 1; child <= 2 * at + 2; ++child) {
      if (child < heap_.size() && count(child) < count(least)) least = child;
    }
    if (least == at) return;
    std::swap(heap_[at], heap_[least]);
    counters_[heap_[at]].heap_at = at;
    counters_[heap_[least]].heap_at = least;
    at = least;
  }
}

}  // namespace limitree
