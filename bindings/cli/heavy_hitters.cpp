#include "heavy_hitters.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

namespace limitree::cli {

HeavyHitters::HeavyHitters(std::size_t counters)
    : counters_(counters),
      heap_(counters),
      chains_(std::bit_ceil(2 * counters), kNone) {
  // All counts are 0, so any order is a heap.
  std::iota(heap_.begin(), heap_.end(), std::size_t{0});
  for (std::size_t i = 0; i < counters; ++i) counters_[i].heap_at = i;
}

void HeavyHitters::add(std::string_view text) {
  const std::uint64_t hash = std::hash<std::string_view>()(text);
  std::size_t index = find(text, hash);
  if (index == kNone) index = take_over(text, hash);
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

std::size_t HeavyHitters::find(std::string_view text,
                               std::uint64_t hash) const {
  std::size_t index = chains_[hash & (chains_.size() - 1)];
  while (index != kNone) {
    const Counter& counter = counters_[index];
    if (counter.hash == hash && counter.text_size == text.size() &&
        counter.caller.text == text.substr(0, kMaxText)) {
      break;
    }
    index = counter.next;
  }
  return index;
}

// Gives the smallest counter to a caller without a counter.
std::size_t HeavyHitters::take_over(std::string_view text, std::uint64_t hash) {
  const std::size_t index = heap_.front();
  Counter& counter = counters_[index];
  if (counter.caller.count != 0) unlink(index);
  counter.caller.error = counter.caller.count;
  counter.caller.text = text.substr(0, kMaxText);
  counter.hash = hash;
  counter.text_size = text.size();
  counter.next = std::exchange(chain(hash), index);
  return index;
}

void HeavyHitters::unlink(std::size_t index) {
  std::size_t* link = &chain(counters_[index].hash);
  while (*link != index) link = &counters_[*link].next;
  *link = counters_[index].next;
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
