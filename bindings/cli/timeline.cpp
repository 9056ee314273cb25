#include "timeline.hpp"

#include <algorithm>
#include <utility>

namespace limitree::cli {

namespace {

constexpr std::size_t kShadowCallers = 4096;

// A day has 288 bins of five minutes.
constexpr std::size_t kMostBins = 300;
constexpr std::size_t kFewestBins = 24;

// Of all limits in all bins together: 6 MB twice.
constexpr std::size_t kMostCounts = 200'000;

std::map<std::string_view, std::size_t> places_of(limitree_limiter* limiter) {
  std::map<std::string_view, std::size_t> places;
  for (const Counters& limit : counters(limiter, LIMITREE_SCOPE_LIMITS)) {
    places.emplace(limit.label, places.size());
  }
  if (places.size() > kMostCounts / kFewestBins) places.clear();
  return places;
}

}  // namespace

Timeline::Timeline(limitree_limiter* limiter)
    : limiter_(limiter),
      places_(places_of(limiter)),
      max_bins_(
          std::clamp(kMostCounts / std::max<std::size_t>(places_.size(), 1),
                     kFewestBins, kMostBins)),
      histogram_(max_bins_),
      shadow_callers_(kShadowCallers) {}

void Timeline::end_bin() {
  if (places_.empty()) return;
  if (snapshots_.size() >= 2 * max_bins_) thin();
  Snapshot& now = snapshots_.emplace_back();
  now.until_s = bin_end_s_;
  now.limits.resize(places_.size());
  for (const Counters& limit : counters(limiter_, LIMITREE_SCOPE_LIMITS)) {
    const auto place = places_.find(limit.label);
    if (place == places_.end()) continue;
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      now.limits[place->second][i] = limit[kNames[i]];
    }
  }
}

// Keeps the last snapshot of each bin: bins have become wider.
void Timeline::thin() {
  const std::int64_t begin_s = histogram_.begin_unix_s();
  const std::int64_t width_s = histogram_.bin_seconds();
  const auto bin = [&](const Snapshot& one) {
    return (one.until_s - begin_s - 1) / width_s;
  };
  std::vector<Snapshot> kept;
  for (Snapshot& one : snapshots_) {
    if (!kept.empty() && bin(kept.back()) == bin(one)) {
      kept.back() = std::move(one);
    } else {
      kept.push_back(std::move(one));
    }
  }
  snapshots_ = std::move(kept);
}

std::vector<Timeline::Counts> Timeline::of(std::string_view label) const {
  const auto place = places_.find(label);
  if (place == places_.end()) return {};
  std::vector<Counts> counts;
  Counts before{};
  std::size_t next = 0;
  std::int64_t end_s = histogram_.begin_unix_s();
  for (std::size_t bin = 0; bin < histogram_.bins().size(); ++bin) {
    end_s += histogram_.bin_seconds();
    Counts now = before;
    for (; next < snapshots_.size() && snapshots_[next].until_s <= end_s;
         ++next) {
      now = snapshots_[next].limits[place->second];
    }
    Counts& change = counts.emplace_back();
    for (std::size_t i = 0; i < now.size(); ++i) change[i] = now[i] - before[i];
    before = now;
  }
  return counts;
}

}  // namespace limitree::cli
