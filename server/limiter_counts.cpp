#include "limiter_counts.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "limitree.hpp"

namespace limitree::server {

namespace {

// More limits than these are not all for people to look at.
constexpr std::size_t kFewLimits = 10'000;

// The counters of all names; there may be more by the time they are read.
std::vector<limitree_descriptor_stats> read_limits(limitree_limiter* limiter) {
  std::vector<limitree_descriptor_stats> stats;
  std::size_t count = 0;
  do {
    stats.resize(count);
    check([&](limitree_error** error) {
      return limitree_limiter_descriptor_stats(limiter, stats.data(),
                                               stats.size(), &count, error);
    });
  } while (count > stats.size());
  stats.resize(count);
  return stats;
}

std::uint64_t whole(std::int64_t count) {
  return static_cast<std::uint64_t>(count);
}

bool is_used(const limitree_descriptor_stats& stats) {
  return stats.total_hits != 0 || stats.total_negative_hits != 0 ||
         stats.domain_not_found != 0;
}

LimitCounts counts_of(const limitree_descriptor_stats& stats) {
  return {std::string(stats.key.data, stats.key.size),
          {whole(stats.total_hits), whole(stats.over_limit),
           whole(stats.near_limit), whole(stats.over_limit_with_local_cache),
           whole(stats.within_limit), whole(stats.shadow_mode),
           whole(stats.total_negative_hits), whole(stats.domain_not_found)}};
}

}  // namespace

LimiterCounts read_counts(limitree_limiter* limiter) {
  LimiterCounts counts;
  const std::vector<limitree_descriptor_stats> all_limits =
      read_limits(limiter);
  const bool has_few = all_limits.size() <= kFewLimits;
  for (const limitree_descriptor_stats& stats : all_limits) {
    if (has_few || is_used(stats)) counts.limits.push_back(counts_of(stats));
  }
  limitree_envoy_stats all;
  check([&](limitree_error** error) {
    return limitree_limiter_envoy_stats(limiter, &all, error);
  });
  counts.global_shadow_mode = whole(all.global_shadow_mode);
  counts.service_errors = whole(all.service_errors);
  counts.store_errors = whole(all.store_errors);
  counts.cache = {whole(all.over_cache_lookups), whole(all.over_cache_hits),
                  whole(all.over_cache_entries),
                  whole(all.over_cache_evictions)};
  return counts;
}

}  // namespace limitree::server
