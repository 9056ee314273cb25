// The most frequent callers in a stream, in constant memory.
//
// Space-Saving: a fixed number of counters.  A caller without a counter takes
// over the smallest one, including its count.  With n counters and a total of
// t:
//
//   - count - error <= true count <= count, for every caller that is kept;
//   - error <= t / n;
//   - every caller that occurred more than t / n times is kept.

#ifndef LIMITREE_CLI_HEAVY_HITTERS_HPP
#define LIMITREE_CLI_HEAVY_HITTERS_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace limitree::cli {

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

}  // namespace limitree::cli

#endif  // LIMITREE_CLI_HEAVY_HITTERS_HPP
