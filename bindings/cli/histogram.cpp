#include "histogram.hpp"

#include <algorithm>
#include <array>

namespace limitree::cli {

namespace {

constexpr std::int64_t kDayS = 86'400;

// Each width is a multiple of the one before, so that bins can be joined.
constexpr std::array<std::int64_t, 14> kWidths = {
    1,    5,    10,   30,    60,    300,   600,
    1800, 3600, 7200, 21600, 43200, kDayS, 7 * kDayS};

std::int64_t wider(std::int64_t width_s) {
  const auto* const next =
      std::upper_bound(kWidths.begin(), kWidths.end(), width_s);
  return next != kWidths.end() ? *next : 2 * width_s;
}

}  // namespace

void Histogram::add(std::int64_t unix_s, bool limited, bool shadowed) {
  const std::int64_t local_s = unix_s + utc_offset_s_;
  if (bins_.empty()) begin_s_ = floor(local_s);
  while ((local_s - begin_s_) / width_s_ >=
         static_cast<std::int64_t>(max_bins_)) {
    widen();
  }
  const auto index = static_cast<std::size_t>((local_s - begin_s_) / width_s_);
  if (index >= bins_.size()) bins_.resize(index + 1);
  ++bins_[index].requests;
  if (limited) ++bins_[index].limited;
  if (shadowed) ++bins_[index].shadowed;
}

void Histogram::widen() {
  const std::int64_t old_begin_s = begin_s_;
  const std::int64_t old_width_s = width_s_;
  const std::vector<Bin> old_bins = std::move(bins_);
  width_s_ = wider(width_s_);
  begin_s_ = floor(begin_s_);
  bins_.clear();
  for (std::size_t i = 0; i < old_bins.size(); ++i) {
    const std::int64_t bin_s =
        old_begin_s + static_cast<std::int64_t>(i) * old_width_s;
    const auto index = static_cast<std::size_t>((bin_s - begin_s_) / width_s_);
    bins_.resize(index + 1);
    bins_[index].requests += old_bins[i].requests;
    bins_[index].limited += old_bins[i].limited;
    bins_[index].shadowed += old_bins[i].shadowed;
  }
}

// The start of the bin that contains `local_s`.
std::int64_t Histogram::floor(std::int64_t local_s) const {
  const std::int64_t rest = local_s % width_s_;
  return local_s - (rest < 0 ? rest + width_s_ : rest);
}

}  // namespace limitree::cli
