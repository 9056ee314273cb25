#include "stats/snapshot.hpp"

#include "stats/names.hpp"

namespace limitree::server {

namespace {

constexpr std::array<std::string_view, kServiceCounterCount> kNames = {
    "ratelimit.service.config_load_success",
    "ratelimit.service.config_load_error",
    "ratelimit.service.global_shadow_mode",
    "ratelimit.service.call.should_rate_limit.redis_error",
    "ratelimit.service.call.should_rate_limit.service_error"};

constexpr std::string_view kLimits = "ratelimit.service.rate_limit.";

void add(const LimitValues& values, LimitValues* sum) {
  sum->resize(limit_counters().size());
  for (std::size_t i = 0; i < values.size(); ++i) (*sum)[i] += values[i];
}

void subtract(LimitValues& values, const LimitValues& older) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] -= older[i];
}

void subtract(std::uint64_t& value, std::uint64_t older) { value -= older; }

void subtract(HistogramCounts& counts, const HistogramCounts& older) {
  counts -= older;
}

template <typename Value>
void subtract(std::map<std::string, Value, std::less<>>* from,
              const std::map<std::string, Value, std::less<>>& older) {
  for (const auto& [name, value] : older) {
    const auto found = from->find(name);
    if (found != from->end()) subtract(found->second, value);
  }
}

void add_line(std::string_view name, std::uint64_t value, std::string* text) {
  text->append(name).append(": ").append(std::to_string(value)).append("\n");
}

}  // namespace

const std::vector<const limitree_counter*>& limit_counters() {
  static const auto counters = [] {
    std::vector<const limitree_counter*> found;
    for (std::size_t i = 0; limitree_counter_at(i) != nullptr; ++i) {
      const limitree_counter* const one = limitree_counter_at(i);
      if (one->scope == LIMITREE_SCOPE_RULES) found.push_back(one);
    }
    return found;
  }();
  return counters;
}

bool is_usual(const limitree_counter& counter) {
  const std::string_view name = counter.name;
  return name != "total_negative_hits" && name != "domain_not_found";
}

std::string_view name_of(ServiceCounter counter) {
  return kNames[static_cast<std::size_t>(counter)];
}

std::string method_name(std::string_view method, std::string_view end) {
  return "ratelimit_server." + std::string(method) + "." + std::string(end);
}

void Snapshot::add(const LimiterCounts& counts) {
  for (const LimitCounts& limit : counts.limits) {
    server::add(limit.values, &limits[clean_name(limit.name)]);
  }
  at(ServiceCounter::kGlobalShadowMode) += counts.global_shadow_mode;
  at(ServiceCounter::kRedisError) += counts.store_errors;
  at(ServiceCounter::kServiceError) += counts.service_errors;
  const CacheCounts& cache = counts.cache;
  if (cache.lookups == 0) return;
  const std::string prefix = "ratelimit.localcache.";
  gauges[prefix + "lookupCount"] = cache.lookups;
  gauges[prefix + "hitCount"] = cache.hits;
  gauges[prefix + "missCount"] = cache.lookups - cache.hits;
  gauges[prefix + "entryCount"] = cache.entries;
  gauges[prefix + "evacuateCount"] = cache.evictions;
}

Snapshot Snapshot::since(const Snapshot& older) const {
  Snapshot difference = *this;
  subtract(&difference.limits, older.limits);
  subtract(&difference.methods, older.methods);
  subtract(&difference.losses, older.losses);
  for (std::size_t i = 0; i < service.size(); ++i) {
    difference.service[i] -= older.service[i];
  }
  return difference;
}

void for_each_counter(
    const Snapshot& snapshot,
    const std::function<void(std::string_view, std::uint64_t)>& take) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    take(kNames[i], snapshot.service[i]);
  }
  std::string name(kLimits);
  for (const auto& [limit, values] : snapshot.limits) {
    // The name of a domain has no limit of its own.
    const bool is_limit = limit.find('.') != limit.npos;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const limitree_counter& counter = *limit_counters()[i];
      if (values[i] == 0 && !(is_limit && is_usual(counter))) continue;
      name.resize(kLimits.size());
      name.append(limit).append(".").append(counter.name);
      take(name, values[i]);
    }
  }
  for (const auto& [method, times] : snapshot.methods) {
    take(method_name(method, "total_requests"), times.total());
  }
  for (const auto& [loss, count] : snapshot.losses) take(loss, count);
}

std::string stats_text(const Snapshot& snapshot) {
  std::string text;
  for_each_counter(snapshot, [&](std::string_view name, std::uint64_t value) {
    add_line(name, value, &text);
  });
  for (const auto& [name, value] : snapshot.gauges) {
    add_line(name, value, &text);
  }
  return text;
}

}  // namespace limitree::server
