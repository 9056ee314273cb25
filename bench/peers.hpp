// Peers of the memory store, for comparison in the same program.

#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/gcra.hpp"

namespace limitree::bench {

// Buckets as most libraries keep them, such as bucket4j with its map of
// strings: a hash map under a mutex, and the system's clock.  The answer has
// the same fields as that of the memory store.
class MapStore {
 public:
  // Finds the bucket by a view of the name: nothing is copied.
  Verdict authorize(std::string_view key, const Rate& rate, std::int64_t cost) {
    const Instant now(std::chrono::steady_clock::now().time_since_epoch());
    const std::lock_guard lock(mutex_);
    const auto found = tats_.find(key);
    if (found != tats_.end()) return decide(&found->second, rate, now, cost);
    Instant* const tat = &tats_.emplace(key, Instant()).first->second;
    return decide(tat, rate, now, cost);
  }

  // Makes a string of the name first, for maps that need a string.
  Verdict authorize_copied(std::string_view root, std::string_view caller,
                           const Rate& rate, std::int64_t cost) {
    std::string key;
    key.reserve(root.size() + 1 + caller.size());
    key.append(root).append(1, ':').append(caller);
    return authorize(key, rate, cost);
  }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const {
      return std::hash<std::string_view>{}(key);
    }
  };

  static Verdict decide(Instant* tat, const Rate& rate, Instant now,
                        std::int64_t cost) {
    const Probe found = probe(rate, *tat - now, cost);
    const Verdict verdict = limitree::verdict(
        rate, found, found.fits ? found.debt + found.charge : found.debt);
    if (verdict.charged) *tat = now + verdict.reset_after;
    return verdict;
  }

  std::mutex mutex_;
  std::unordered_map<std::string, Instant, Hash, std::equal_to<>> tats_;
};

// Steps that the processor can neither predict nor overlap, one cache line
// each: the price of a cold bucket on this machine.
class PointerChase {
 public:
  explicit PointerChase(std::size_t bytes) : lines_(bytes / sizeof(Line)) {
    std::vector<std::uint32_t> order(lines_.size());
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
    for (std::size_t i = 0; i < order.size(); ++i) {
      lines_[order[i]].next = order[(i + 1) % order.size()];
    }
  }

  std::uint32_t step(std::uint32_t at) const { return lines_[at].next; }

 private:
  struct alignas(64) Line {
    std::uint32_t next;
  };
  std::vector<Line> lines_;
};

// Callers in an order with a long period.
class Callers {
 public:
  Callers(std::uint32_t count, std::uint64_t seed)
      : count_(count), state_(seed * 2 + 1) {}

  // The next caller's name, 24 bytes, as if it had come with a request.
  std::string_view next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return name((state_ >> 32) * count_ >> 32);
  }

  // Written as one word: a read of the word right after eight stores of a byte
  // would stall, which does not happen in a real request.
  std::string_view name(std::uint64_t number) {
    std::uint64_t digits = 0;
    for (int i = 0; i < 8; ++i) {
      digits |= (number >> (4 * i) & 15) << (8 * i);
    }
    digits += 0x6161616161616161;  // 'a' ... 'p'
    std::memcpy(name_ + 16, &digits, sizeof digits);
    return {name_, 24};
  }

 private:
  const std::uint64_t count_;
  std::uint64_t state_;
  char name_[25] = "customer-account00000000";
};

}  // namespace limitree::bench
