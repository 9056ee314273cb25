#include "stats/histogram.hpp"

#include <algorithm>
#include <bit>

namespace limitree::server {

namespace {

constexpr auto kEnds = [] {
  std::array<Duration, kBoundCount> ends{};
  Duration power = kMicrosecond;
  for (std::size_t i = 0; i < kBoundCount; ++i) {
    ends[i] = power * static_cast<int>(i % 9 + 1);
    if (i % 9 == 8) power *= 10;
  }
  return ends;
}();

// For each number of bits: the first range for times with that many bits.  The
// right range is at most five ranges further.
constexpr auto kFirst = [] {
  std::array<std::uint8_t, 65> first{};
  for (std::size_t bits = 1; bits < first.size(); ++bits) {
    std::size_t i = 0;
    while (i < kBoundCount && static_cast<std::uint64_t>(kEnds[i].count()) <
                                  std::uint64_t{1} << (bits - 1)) {
      ++i;
    }
    first[bits] = static_cast<std::uint8_t>(i);
  }
  return first;
}();

// A negative time counts as 0.
std::uint64_t ns_of(Duration time) {
  return static_cast<std::uint64_t>(std::max(time, Duration::zero()).count());
}

// The time at `share` of the way through a range.
Duration time_within(std::size_t range, double share) {
  if (range == kBoundCount) return kEnds[kBoundCount - 1];
  const Duration begin = range == 0 ? Duration::zero() : kEnds[range - 1];
  return begin +
         std::chrono::duration_cast<Duration>((kEnds[range] - begin) * share);
}

}  // namespace

Duration range_end(std::size_t i) { return kEnds[i]; }

std::size_t range_of(Duration time) {
  std::size_t i = kFirst[static_cast<std::size_t>(std::bit_width(ns_of(time)))];
  while (i < kBoundCount && time > kEnds[i]) ++i;
  return i;
}

std::uint64_t HistogramCounts::total() const {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : counts) sum += count;
  return sum;
}

HistogramCounts& HistogramCounts::operator+=(const HistogramCounts& other) {
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
  sum_ns += other.sum_ns;
  return *this;
}

HistogramCounts& HistogramCounts::operator-=(const HistogramCounts& older) {
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] -= older.counts[i];
  sum_ns -= older.sum_ns;
  return *this;
}

std::vector<TimeSample> HistogramCounts::samples(std::size_t room) const {
  const auto all = static_cast<double>(total());
  const auto count =
      static_cast<std::size_t>(std::min(all, static_cast<double>(room)));
  std::vector<TimeSample> samples;
  samples.reserve(count);
  std::size_t range = 0;
  double before = 0;  // requests in earlier ranges
  for (std::size_t i = 0; i < count; ++i) {
    const double rank =
        all * (static_cast<double>(i) + 0.5) / static_cast<double>(count);
    auto here = static_cast<double>(counts[range]);
    while (before + here <= rank) {
      before += here;
      here = static_cast<double>(counts[++range]);
    }
    samples.push_back({time_within(range, (rank - before) / here),
                       all / static_cast<double>(count)});
  }
  return samples;
}

void Histogram::add(Duration time, std::uint64_t times) {
  counts_[range_of(time)].add(times);
  sum_ns_.add(ns_of(time) * times);
}

HistogramCounts Histogram::get() const {
  HistogramCounts result;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    result.counts[i] = counts_[i].get();
  }
  result.sum_ns = sum_ns_.get();
  return result;
}

}  // namespace limitree::server
