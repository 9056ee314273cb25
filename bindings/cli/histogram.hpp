// The number of requests, and of limited and shadowed ones, over time, in
// constant memory.
//
// There are at most so many bins of equal width, which is a second at first.
// When bins run out, adjacent ones are joined to the next width that is easy to
// read: 5 s, 10 s, 30 s, 1 min, ... 1 h, ... 1 d.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace limitree::cli {

class Histogram {
 public:
  static constexpr std::size_t kMaxBins = 32;

  struct Bin {
    std::int64_t requests = 0;
    std::int64_t limited = 0;
    std::int64_t shadowed = 0;
  };

  // REQUIRES: max_bins > 0.
  explicit Histogram(std::size_t max_bins = kMaxBins) : max_bins_(max_bins) {}

  // Counts one request.  REQUIRES: no earlier request has a later time.
  void add(std::int64_t unix_s, bool limited, bool shadowed = false);

  // Bins begin at whole multiples of the width, on clocks this far east of
  // Greenwich.  REQUIRES: nothing has been added yet.
  void align(std::int32_t utc_offset_s) { utc_offset_s_ = utc_offset_s; }

  std::int64_t bin_seconds() const { return width_s_; }
  std::int64_t begin_unix_s() const { return begin_s_ - utc_offset_s_; }

  // The end of the last bin.
  std::int64_t end_unix_s() const {
    return begin_unix_s() + static_cast<std::int64_t>(bins_.size()) * width_s_;
  }

  // From the first request to the last, including empty bins.
  const std::vector<Bin>& bins() const { return bins_; }

 private:
  void widen();
  std::int64_t floor(std::int64_t local_s) const;

  std::size_t max_bins_;
  std::int32_t utc_offset_s_ = 0;
  std::int64_t width_s_ = 1;
  std::int64_t begin_s_ = 0;  // of the first bin, in local time
  std::vector<Bin> bins_;
};

}  // namespace limitree::cli
