// What limits have counted in each of the last intervals, in bounded memory.

#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "io/timer.hpp"
#include "limitree.h"

namespace limitree::server {

// Counters of one limit, or of all together.
struct LimitCounts {
  std::int64_t allowed = 0;
  std::int64_t limited = 0;
  std::int64_t shadowed = 0;  // a limit in shadow would deny

  bool is_idle() const { return allowed + limited + shadowed == 0; }
  LimitCounts& operator+=(const LimitCounts& other);
  LimitCounts operator-(const LimitCounts& other) const;
};

// Belongs to one thread.
class RateHistory {
 public:
  static constexpr Duration kInterval = std::chrono::seconds(5);
  static constexpr std::size_t kIntervals = 60;
  // Limits with a history, which are in use; the others count together.
  static constexpr std::size_t kMostLimits = 300;
  // If there are more, with rules and those of earlier trees, only the sum is
  // read: to read them all takes some milliseconds.
  static constexpr std::size_t kMostRead = 20'000;

  using Ring = std::array<LimitCounts, kIntervals>;  // the oldest first

  // `shadow`: the whole service is in shadow.
  explicit RateHistory(bool shadow = false) : shadow_(shadow) {}

  // Reads the counters of `limiter`, once in an interval.  Throws what
  // limitree.hpp throws.
  void sample(limitree_limiter* limiter);

  // Intervals that have been sampled, at most kIntervals.
  std::size_t size() const { return size_; }
  const Ring& all() const { return all_; }
  const Ring& others() const { return others_; }
  // Calls `use(name, ring)` for each limit with a history.
  template <typename Use>
  void each(const Use& use) const {
    for (const Limit& limit : limits_) {
      if (!limit.name.empty()) use(limit.name, limit.ring);
    }
  }
  bool reads_limits() const { return reads_limits_; }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  struct Limit {
    std::string_view name;  // lives as long as the limiter; empty: free
    Ring ring{};
  };
  struct Read {
    LimitCounts last;
    std::size_t limit = kNone;  // index in limits_
  };

  // Unless it `counts`, `now` only is where the next interval begins.
  void count(std::string_view name, const LimitCounts& now, bool counts);
  std::size_t take_limit(std::string_view name);
  static void shift(Ring* ring);

  bool shadow_;
  bool reads_limits_ = true;
  bool begun_ = false;
  bool follows_ = false;  // the sample before this one has read the limits
  bool is_full_ = false;  // take_limit() has found no place for this sample
  std::size_t size_ = 0;
  LimitCounts last_;  // of all together
  Ring all_{};
  Ring others_{};
  std::vector<Limit> limits_;
  std::map<std::string_view, Read> read_;
};

}  // namespace limitree::server
