#include "heavy_hitters.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

namespace limitree::cli {

HeavyHitters::HeavyHitters(std::size_t counters)
    : counters_(counters), heap_(counters) {
  by_hash_.reserve(counters);
  // All counts are 0, so any order is a heap.
  std::iota(heap_.begin(), heap_.end(), std::size_t{0});
  for (std::size_t i = 0; i < counters; ++i) counters_[i].heap_at = i;
}

void HeavyHitters::add(std::string_view text) {
  const std::size_t hash = std::hash<std::string_view>()(text);
  const auto found = by_hash_.find(hash);
  const std::size_t index =
      found != by_hash_.end() ? found->second : take_over(text, hash);
  ++total_;
  ++counters_[index].caller.count;
  sink(counters_[index].heap_at);
}

std::int64_t HeavyHitters::error_bound() const {
  // An error is the smallest count at some earlier time, and that only grows.
  return counters_[heap_.front()].caller.count;
}

std::vector<HeavyHitters::Caller> HeavyHitters::top(std::size_t count) const {
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
std::size_t HeavyHitters::take_over(std::string_view text, std::size_t hash) {
  const std::size_t index = heap_.front();
  Counter& counter = counters_[index];
  if (counter.caller.count == 0) {
    by_hash_.emplace(hash, index);
  } else {  // the node of the map is reused
    auto node = by_hash_.extract(counter.hash);
    node.key() = hash;
    by_hash_.insert(std::move(node));
  }
  counter.caller.error = counter.caller.count;
  counter.caller.text = text.substr(0, kMaxText);
  counter.hash = hash;
  return index;
}

// Moves the counter at heap_[at], which has grown, down to its place.
void HeavyHitters::sink(std::size_t at) {
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

}  // namespace limitree::cli
