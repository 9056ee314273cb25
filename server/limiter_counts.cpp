#include "limiter_counts.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "limitree.hpp"

namespace limitree::server {

namespace {

// More limits than these are not all for people to look at.
constexpr std::size_t kFewLimits = 10'000;

std::uint64_t whole(std::int64_t count) {
  return static_cast<std::uint64_t>(count);
}

}  // namespace

LimiterCounts read_counts(limitree_limiter* limiter) {
  LimiterCounts counts;
  const auto limits = counters(limiter, LIMITREE_SCOPE_RULES);
  const bool has_few = limits.size() <= kFewLimits;
  for (const Counters& limit : limits) {
    LimitCounts one{std::string(limit.label), {}};
    bool is_used = false;
    for (const auto& [counter, value] : limit.values) {
      one.values.push_back(whole(value));
      is_used |= value != 0;
    }
    if (has_few || is_used) counts.limits.push_back(std::move(one));
  }
  const Counters envoy = totals(limiter, LIMITREE_SCOPE_ENVOY);
  counts.global_shadow_mode = whole(envoy["global_shadow_mode"]);
  counts.service_errors = whole(envoy["service_errors"]);
  counts.store_errors = whole(envoy["store_errors"]);
  counts.cache = {
      whole(envoy["over_cache_lookups"]), whole(envoy["over_cache_hits"]),
      whole(envoy["over_cache_entries"]), whole(envoy["over_cache_evictions"])};
  return counts;
}

}  // namespace limitree::server
