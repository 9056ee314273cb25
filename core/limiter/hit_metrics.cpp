#include "limiter/hit_metrics.hpp"

#include <algorithm>
#include <new>

#include "store/siphash.hpp"

namespace limitree {

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

}  // namespace

HitMetric* HitMetrics::make(const Name& name, Shard* shard) {
  HitMetric* const metric =
      &shard->metrics.emplace_front(name.text, made_.fetch_add(1, kRelaxed));
  shard->by_name.emplace(Name{metric->name(), name.hash}, metric);
  return metric;
}

// Whether requests may add one more name.
bool HitMetrics::take_room() {
  if (brought_.load(kRelaxed) >= most_) return false;
  if (brought_.fetch_add(1, kRelaxed) < most_) return true;
  brought_.fetch_sub(1, kRelaxed);
  return false;
}

HitMetric* HitMetrics::intern(std::string_view text) {
  const Name name{text, keyed_hash(text)};
  Shard& shard = shard_of(name.hash);
  const std::lock_guard lock(shard.mutex);
  const auto known = shard.by_name.find(name);
  return known != shard.by_name.end() ? known->second : make(name, &shard);
}

HitMetric* HitMetrics::find(std::string_view text,
                            std::uint64_t hash) noexcept {
  try {
    const Name name{text, hash};
    Shard& shard = shard_of(hash);
    const std::lock_guard lock(shard.mutex);
    const auto known = shard.by_name.find(name);
    if (known != shard.by_name.end()) return known->second;
    if (text.size() <= kMaxName && text != kOther && take_room()) {
      return make(name, &shard);
    }
  } catch (const std::bad_alloc&) {
    // No reason to fail a request.
  }
  uses_other_.store(true, kRelaxed);
  return &other_;
}

std::vector<const HitMetric*> HitMetrics::all() {
  std::vector<const HitMetric*> all;
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    for (const HitMetric& metric : shard.metrics) all.push_back(&metric);
  }
  std::ranges::sort(all, {}, &HitMetric::number);
  if (uses_other_.load(kRelaxed)) all.push_back(&other_);
  return all;
}

HitMetric* HitCounts::find(std::string_view name,
                           HitMetrics* metrics) noexcept {
  const std::uint64_t hash = keyed_hash(name);
  HitMetric*& found = found_[hash % found_.size()];
  if (found == nullptr || found->name() != name) {
    found = metrics->find(name, hash);
  }
  return found;
}

}  // namespace limitree
