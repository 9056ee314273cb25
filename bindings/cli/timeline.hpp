// What a report shows that the summary does not: requests over finer bins of
// time, what each limit did in each bin, and callers that limits in shadow mode
// would have denied.
//
// What each limit did costs nothing for a request: its counters are read at the
// end of each bin.  Memory is bounded: the more limits, the fewer bins.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "heavy_hitters.hpp"
#include "histogram.hpp"
#include "limitree.hpp"

namespace limitree::cli {

class Timeline {
 public:
  // The counters of a limit, in the order of Counts.
  static constexpr std::array<const char*, 4> kNames = {
      "allowed", "limited", "shadow_limited", "near_limit"};
  using Counts = std::array<std::int64_t, kNames.size()>;

  // `limiter` must live as long as this.
  explicit Timeline(limitree_limiter* limiter);

  void align(std::int32_t utc_offset_s) { histogram_.align(utc_offset_s); }

  // Call it before each decision, with its time, and add() after it, unless
  // there was an error.
  void before(std::int64_t unix_s) {
    if (unix_s >= bin_end_s_ && std::exchange(open_, false)) end_bin();
  }
  void add(std::int64_t unix_s, bool limited, bool shadowed) {
    histogram_.add(unix_s, limited, shadowed);
    bin_end_s_ = histogram_.end_unix_s();
    open_ = true;
  }

  // Call it after the last decision.
  void finish() { before(bin_end_s_); }

  const Histogram& histogram() const { return histogram_; }

  // What the limit with that label counted in each bin; nothing if there are
  // too many limits to keep it.  REQUIRES: finish() has been called.
  std::vector<Counts> of(std::string_view label) const;

  // How many times the counters have been read, of which it keeps the result.
  std::size_t snapshots() const { return snapshots_.size(); }

  HeavyHitters* shadow_callers() { return &shadow_callers_; }
  const HeavyHitters& shadow_callers() const { return shadow_callers_; }

 private:
  // All counts before the first request at or after `until_s`.
  struct Snapshot {
    std::int64_t until_s;
    std::vector<Counts> limits;
  };

  void end_bin();
  void thin();

  limitree_limiter* limiter_;
  std::map<std::string_view, std::size_t> places_;  // in Snapshot::limits
  std::size_t max_bins_;
  Histogram histogram_;
  std::int64_t bin_end_s_ = 0;
  bool open_ = false;  // there was a decision since the last snapshot
  std::vector<Snapshot> snapshots_;
  HeavyHitters shadow_callers_;
};

}  // namespace limitree::cli
