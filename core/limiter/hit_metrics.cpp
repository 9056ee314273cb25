#include "limiter/hit_metrics.hpp"

#include <functional>
#include <new>

namespace limitree {

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

}  // namespace

void HitMetric::add(const HitTally& tally) {
  for (std::size_t i = 0; i < kHitFields.size(); ++i) {
    const std::int64_t hits = tally.*kHitFields[i];
    if (hits != 0) counts_[i].fetch_add(hits, kRelaxed);
  }
}

HitTally HitMetric::tally() const {
  HitTally tally;
  for (std::size_t i = 0; i < kHitFields.size(); ++i) {
    tally.*kHitFields[i] = counts_[i].load(kRelaxed);
  }
  return tally;
}

HitMetric* HitMetrics::make(std::string_view name) {
  HitMetric* const metric = &metrics_.emplace_back(name);
  by_name_.emplace(metric->name(), metric);
  return metric;
}

HitMetric* HitMetrics::intern(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto known = by_name_.find(name);
  return known != by_name_.end() ? known->second : make(name);
}

HitMetric* HitMetrics::find(std::string_view name) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    const auto known = by_name_.find(name);
    if (known != by_name_.end()) return known->second;
    if (brought_ < most_ && name.size() <= kMaxName && name != kOther) {
      HitMetric* const metric = make(name);
      ++brought_;
      return metric;
    }
  } catch (const std::bad_alloc&) {
    // No reason to fail a request.
  }
  uses_other_.store(true, kRelaxed);
  return &other_;
}

std::vector<const HitMetric*> HitMetrics::all() {
  const std::lock_guard lock(mutex_);
  std::vector<const HitMetric*> all;
  all.reserve(metrics_.size() + 1);
  for (const HitMetric& metric : metrics_) all.push_back(&metric);
  if (uses_other_.load(kRelaxed)) all.push_back(&other_);
  return all;
}

RateLimitTotals& RateLimitTotals::operator+=(const RateLimitTotals& other) {
  ok += other.ok;
  over_limit += other.over_limit;
  global_shadow_mode += other.global_shadow_mode;
  service_errors += other.service_errors;
  store_errors += other.store_errors;
  return *this;
}

void HitCounts::add(HitMetric* metric, const HitTally& tally) {
  Entry& entry =
      cache_[(reinterpret_cast<std::uintptr_t>(metric) / sizeof(HitMetric)) %
             cache_.size()];
  if (entry.metric != metric) {
    if (entry.metric != nullptr) entry.metric->add(entry.tally);
    entry = {metric, {}};
  }
  entry.tally += tally;
}

HitMetric* HitCounts::find(std::string_view name,
                           HitMetrics* metrics) noexcept {
  HitMetric*& found =
      found_[std::hash<std::string_view>()(name) % found_.size()];
  if (found == nullptr || found->name() != name) found = metrics->find(name);
  return found;
}

void HitCounts::flush() {
  for (Entry& entry : cache_) {
    if (entry.metric != nullptr) entry.metric->add(entry.tally);
    entry = {};
  }
}

}  // namespace limitree
