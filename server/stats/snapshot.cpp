#include "stats/snapshot.hpp"

#include <re2/re2.h>

#include "base/utf8.hpp"
#include "limitree.hpp"

namespace limitree::server {

namespace {

constexpr std::array<std::string_view, kServiceCounterCount> kServiceNames = {
    "ratelimit.service.config_load_success",
    "ratelimit.service.config_load_error",
    "ratelimit.service.global_shadow_mode",
    "ratelimit.service.call.should_rate_limit.redis_error",
    "ratelimit.service.call.should_rate_limit.service_error"};

constexpr std::string_view kLimits = "ratelimit.service.rate_limit.";

// If there are more limits than this, those that no request has met are left
// out.
constexpr std::size_t kFewLimits = 10'000;

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

bool is_bad(char byte) {
  const auto value = static_cast<unsigned char>(byte);
  return value < ' ' || value == 0x7F || value == ':' || value == '|';
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

std::string method_name(std::string_view method, std::string_view end) {
  return "ratelimit_server." + std::string(method) + "." + std::string(end);
}

std::string clean_name(std::string_view name) {
  static const RE2 address(R"((\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3}))",
                           RE2::Latin1);
  std::string clean;
  clean.reserve(name.size());
  while (!name.empty()) {
    const std::size_t size = utf8_size(name);
    if (size == 0 || is_bad(name[0])) {
      clean += '_';
    } else {
      clean += name.substr(0, size);
    }
    name.remove_prefix(size == 0 ? 1 : size);
  }
  RE2::GlobalReplace(&clean, address, R"(\1_\2_\3_\4)");
  return clean;
}

void Snapshot::add_limit(std::string_view name, const LimitValues& values) {
  LimitValues& sum = limits[clean_name(name)];
  sum.resize(limit_counters().size());
  for (std::size_t i = 0; i < values.size(); ++i) sum[i] += values[i];
}

void Snapshot::set_cache(std::uint64_t lookups, std::uint64_t hits,
                         std::uint64_t entries, std::uint64_t evictions) {
  if (lookups == 0) return;
  const std::string prefix = "ratelimit.localcache.";
  gauges[prefix + "lookupCount"] = lookups;
  gauges[prefix + "hitCount"] = hits;
  gauges[prefix + "missCount"] = lookups - hits;
  gauges[prefix + "entryCount"] = entries;
  gauges[prefix + "evacuateCount"] = evictions;
}

Snapshot snapshot_of(limitree_limiter* limiter) {
  Snapshot snapshot;
  const auto limits = counters(limiter, LIMITREE_SCOPE_RULES);
  const bool has_few = limits.size() <= kFewLimits;
  for (const Counters& limit : limits) {
    LimitValues values;
    bool is_used = false;
    for (const auto& [counter, value] : limit.values) {
      values.push_back(static_cast<std::uint64_t>(value));
      is_used |= value != 0;
    }
    if (has_few || is_used) snapshot.add_limit(limit.label, values);
  }
  const Counters envoy = totals(limiter, LIMITREE_SCOPE_ENVOY);
  const auto count = [&](std::string_view name) {
    return static_cast<std::uint64_t>(envoy[name]);
  };
  snapshot.at(ServiceCounter::kGlobalShadowMode) = count("global_shadow_mode");
  snapshot.at(ServiceCounter::kServiceError) = count("service_errors");
  snapshot.at(ServiceCounter::kRedisError) = count("store_errors");
  snapshot.set_cache(count("over_cache_lookups"), count("over_cache_hits"),
                     count("over_cache_entries"),
                     count("over_cache_evictions"));
  return snapshot;
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
  for (std::size_t i = 0; i < kServiceNames.size(); ++i) {
    take(kServiceNames[i], snapshot.service[i]);
  }
  std::string name(kLimits);
  for (const auto& [limit, values] : snapshot.limits) {
    // The name of a domain alone is not a limit.
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
