// How long requests take, as counters of ranges.
//
// Each range ends at one digit and zeros: 1, 2, ... 9, 10, 20, ... microseconds
// up to 10 seconds, so the error of a time is at most half of it.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/timer.hpp"

namespace limitree::server {

// A counter of one thread that others may read.
// Only one thread adds, so adding needs no locked instruction.
class Counter {
 public:
  void add(std::uint64_t count = 1) {
    value_.store(get() + count, std::memory_order_relaxed);
  }
  // From any thread.
  std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// Seven powers of ten with nine ends each, and 10 seconds.
inline constexpr std::size_t kBoundCount = 7 * 9 + 1;

// The end of range `i`, which belongs to it.  One more range is for longer
// times.
Duration range_end(std::size_t i);

// The number of the range that contains `time`.
std::size_t range_of(Duration time);

// A value that stands for `weight` requests.
struct TimeSample {
  Duration time;
  double weight;
};

// Counts as they were at one moment, or between two moments.
struct HistogramCounts {
  std::array<std::uint64_t, kBoundCount + 1> counts{};
  std::uint64_t sum_ns = 0;

  std::uint64_t total() const;
  HistogramCounts& operator+=(const HistogramCounts& other);
  HistogramCounts& operator-=(const HistogramCounts& older);

  // At most `room` values that are distributed as all times are: the time of
  // each request if there is room, otherwise the middles of equal parts.
  std::vector<TimeSample> samples(std::size_t room) const;
};

// One thread adds; any thread may read.  Shares no cache line with another.
class alignas(64) Histogram {
 public:
  // `times` requests took `time`.
  void add(Duration time, std::uint64_t times = 1);
  HistogramCounts get() const;

 private:
  std::array<Counter, kBoundCount + 1> counts_;
  Counter sum_ns_;
};

}  // namespace limitree::server
