// All statistics of the service at one moment.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limitree.h"
#include "stats/histogram.hpp"
#include "stats/process_usage.hpp"

namespace limitree::server {

// What is counted for each limit, by the names that it has in statistics.
const std::vector<const limitree_counter*>& limit_counters();
// Whether the counter is shown for every limit: other counters only if they are
// not 0.  For a domain, every counter is shown only if it is not 0.
bool is_usual(const limitree_counter& counter);

// In the order of limit_counters().
using LimitValues = std::vector<std::uint64_t>;

// Counters of the whole service.
enum class ServiceCounter : std::size_t {
  kConfigLoadSuccess,
  kConfigLoadError,
  kGlobalShadowMode,
  kRedisError,    // the store did not answer
  kServiceError,  // the request or the service was wrong
};
inline constexpr std::size_t kServiceCounterCount = 5;

// Puts '_' in the place of ':', '|', control characters, bytes that are not
// UTF-8, and the dots of IPv4 addresses.
std::string clean_name(std::string_view name);

struct Snapshot {
  // By clean_name(): limits with the same clean name are added up.
  std::map<std::string, LimitValues, std::less<>> limits;
  std::map<std::string, HistogramCounts, std::less<>> methods;
  std::array<std::uint64_t, kServiceCounterCount> service{};
  // Numbers of lost data, such as "limitree.spans_lost".
  std::map<std::string, std::uint64_t, std::less<>> losses;
  std::map<std::string, std::uint64_t, std::less<>> gauges;  // values, not sums
  std::optional<ProcessUsage> process;  // only for Prometheus

  std::uint64_t& at(ServiceCounter counter) {
    return service[static_cast<std::size_t>(counter)];
  }
  std::uint64_t at(ServiceCounter counter) const {
    return service[static_cast<std::size_t>(counter)];
  }

  // Adds the values of a limit, "domain.key_value.key_value".
  void add_limit(std::string_view name, const LimitValues& values);
  // Sets the gauges of the cache of limits that are known to be used up, if it
  // is in use.
  void set_cache(std::uint64_t lookups, std::uint64_t hits,
                 std::uint64_t entries, std::uint64_t evictions);

  // What has been counted since `older`, a snapshot of the same service.
  Snapshot since(const Snapshot& older) const;
};

// What the limiter counts, without the limits that no request has met if there
// are many limits.  From any thread.  Throws what limitree.hpp throws.
Snapshot snapshot_of(limitree_limiter* limiter);

// Calls `take` with the name in StatsD and the value of each counter, in an
// order that does not change.
void for_each_counter(
    const Snapshot& snapshot,
    const std::function<void(std::string_view, std::uint64_t)>& take);

// "ratelimit_server.ShouldRateLimit", followed by `end`.
std::string method_name(std::string_view method, std::string_view end);

// Lines such as "ratelimit.service.config_load_success: 1", for people.
std::string stats_text(const Snapshot& snapshot);

// The text format that Prometheus reads (version 0.0.4).  The names and labels
// are those that the mapper of envoyproxy/ratelimit makes from the names in
// StatsD.  Limits that differ only below their second key are one series.
std::string prometheus_text(const Snapshot& snapshot);

}  // namespace limitree::server
