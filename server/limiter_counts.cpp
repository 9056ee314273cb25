#include "limiter_counts.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "limitree.hpp"

namespace limitree::server {

namespace {

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
  for (const limitree_descriptor_stats& stats : read_limits(limiter)) {
    counts.limits.push_back(counts_of(stats));
  }
  limitree_rate_limit_stats all;
  check([&](limitree_error** error) {
    return limitree_limiter_rate_limit_stats(limiter, &all, error);
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
