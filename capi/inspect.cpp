// Statistics of a limiter, and checks of its store.

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>

#include "convert.hpp"
#include "limiter/prometheus.hpp"

using limitree::Code;
using limitree::PolicyStats;
using limitree::ReasonCount;
using limitree::Result;
using limitree::Source;
using limitree::Status;
using limitree::StoreFile;
using limitree::StoreStats;
using limitree::capi::guarded;
using limitree::capi::null_argument;
using limitree::capi::Question;

static_assert(sizeof(limitree_stats) == 256);
static_assert(sizeof(void*) != 8 || sizeof(limitree_limit_stats) == 128);
static_assert(sizeof(void*) != 8 || sizeof(limitree_reason_stats) == 64);
static_assert(sizeof(void*) != 8 || sizeof(limitree_descriptor_stats) == 128);
static_assert(sizeof(limitree_envoy_stats) == 128);
static_assert(sizeof(limitree_round_trips) == 256);
static_assert(sizeof(void*) != 8 || sizeof(limitree_store_file) == 128);
static_assert(LIMITREE_ROUND_TRIP_BUCKETS == StoreStats::kRoundTripBuckets);

namespace {

limitree_text* text_of(std::string text) {
  return new limitree_text{std::move(text)};
}

// Joins the two lists, each reason once.
std::vector<limitree_reason_stats> join(const StoreStats& stats) {
  std::vector<limitree_reason_stats> all;
  const auto at = [&all](const char* reason) -> limitree_reason_stats& {
    const auto found = std::ranges::find_if(all, [reason](const auto& one) {
      return std::string_view(one.reason) == reason;
    });
    if (found != all.end()) return *found;
    all.push_back({reason, 0, 0, {}});
    return all.back();
  };
  for (const ReasonCount& one : stats.errors) {
    at(one.reason).errors += one.count;
  }
  for (const ReasonCount& one : stats.troubles) {
    at(one.reason).troubles += one.count;
  }
  return all;
}

}  // namespace

limitree_status limitree_limiter_stats(limitree_limiter* limiter,
                                       limitree_stats* stats,
                                       limitree_error** error) {
  return guarded(error, [&]() -> Status {
    if (limiter == nullptr) return null_argument("limiter");
    if (stats == nullptr) return null_argument("stats");
    const limitree::LimiterStats core = limiter->limiter.stats();
    *stats = {};
    stats->allowed = core.totals.allowed();
    stats->limited = core.totals.limited();
    stats->shadow_limited = core.totals.shadow_limited;
    stats->soft = core.totals.soft;
    stats->errors = core.totals.errors;
    stats->reloads = core.reloads;
    stats->limits = core.limits;
    stats->buckets = core.store.buckets;
    stats->max_buckets = core.store.max_buckets;
    stats->store_bytes = core.store.bytes;
    stats->evictions = core.store.evictions;
    stats->forgotten_limited = core.store.forgotten_limited;
    stats->from_deny_cache = core.totals.from(Source::kDenyCache);
    stats->from_local = core.totals.from(Source::kLocal);
    stats->from_allow = core.totals.from(Source::kAllow);
    stats->from_deny = core.totals.from(Source::kDeny);
    stats->connects = core.store.connects;
    stats->round_trip_ns = core.store.round_trip_ns;
    for (const std::int64_t count : core.store.round_trips) {
      stats->round_trips += count;
    }
    for (const ReasonCount& one : core.store.errors) {
      stats->store_errors += one.count;
    }
    return {};
  });
}

limitree_status limitree_limiter_limit_stats(limitree_limiter* limiter,
                                             limitree_limit_stats* stats,
                                             size_t capacity, size_t* count,
                                             limitree_error** error) {
  return guarded(error, [&]() -> Status {
    if (limiter == nullptr) return null_argument("limiter");
    if (stats == nullptr && capacity != 0) return null_argument("stats");
    if (count == nullptr) return null_argument("count");
    const auto all = limiter->limiter.policy_stats();
    *count = all.size();
    for (std::size_t i = 0; i < std::min(all.size(), capacity); ++i) {
      stats[i] = {};
      stats[i].policy = {all[i].policy.data(), all[i].policy.size()};
      stats[i].allowed = all[i].tally.allowed;
      stats[i].limited = all[i].tally.limited;
      stats[i].shadow_limited = all[i].tally.shadow_limited;
      stats[i].soft = all[i].tally.soft;
      stats[i].near_limit = all[i].tally.near_limit;
    }
    return {};
  });
}

limitree_status limitree_limiter_reason_stats(limitree_limiter* limiter,
                                              limitree_reason_stats* stats,
                                              size_t capacity, size_t* count,
                                              limitree_error** error) {
  return guarded(error, [&]() -> Status {
    if (limiter == nullptr) return null_argument("limiter");
    if (stats == nullptr && capacity != 0) return null_argument("stats");
    if (count == nullptr) return null_argument("count");
    const auto all = join(limiter->limiter.stats().store);
    *count = all.size();
    std::copy_n(all.begin(), std::min(all.size(), capacity), stats);
    return {};
  });
}

limitree_status limitree_limiter_round_trips(limitree_limiter* limiter,
                                             limitree_round_trips* round_trips,
                                             limitree_error** error) {
  return guarded(error, [&]() -> Status {
    if (limiter == nullptr) return null_argument("limiter");
    if (round_trips == nullptr) return null_argument("round_trips");
    const StoreStats stats = limiter->limiter.stats().store;
    limitree::Duration below = StoreStats::kShortestRoundTrip;
    for (std::size_t i = 0; i < stats.round_trips.size(); ++i, below *= 2) {
      round_trips->below_ns[i] = below.count();
      round_trips->count[i] = stats.round_trips[i];
    }
    round_trips->below_ns[stats.round_trips.size() - 1] = INT64_MAX;
    return {};
  });
}

limitree_status limitree_limiter_prometheus(limitree_limiter* limiter,
                                            limitree_text** text,
                                            limitree_error** error) {
  return guarded(error, [&]() -> Status {
    if (limiter == nullptr) return null_argument("limiter");
    if (text == nullptr) return null_argument("text");
    const std::vector<PolicyStats> policies = limiter->limiter.policy_stats();
    *text =
        text_of(limitree::prometheus_text(limiter->limiter.stats(), policies));
    return {};
  });
}

limitree_status limitree_ping(limitree_limiter* limiter, int64_t* round_trip_ns,
                              limitree_error** error) {
  return guarded(error, [&]() -> Status {
    if (limiter == nullptr) return null_argument("limiter");
    using std::chrono::steady_clock;
    const steady_clock::time_point start = steady_clock::now();
    Status status = limiter->limiter.ping();
    if (status.ok() && round_trip_ns != nullptr) {
      *round_trip_ns = limitree::Duration(steady_clock::now() - start).count();
    }
    return status;
  });
}

limitree_status limitree_limiter_store_file(limitree_limiter* limiter,
                                            limitree_store_file* file,
                                            limitree_error** error) {
  return guarded(error, [&]() -> Status {
    if (limiter == nullptr) return null_argument("limiter");
    if (file == nullptr) return null_argument("file");
    const std::optional<StoreFile> core = limiter->limiter.store_file();
    if (!core.has_value()) {
      return Status(Code::kInvalidArgument, "the store is no file");
    }
    *file = {};
    file->path = {core->path.data(), core->path.size()};
    file->version = core->version;
    file->bytes = core->bytes;
    file->processes = core->processes;
    return {};
  });
}

limitree_status limitree_limiter_describe(limitree_limiter* limiter,
                                          limitree_text** text,
                                          limitree_error** error) {
  return guarded(error, [&]() -> Status {
    if (limiter == nullptr) return null_argument("limiter");
    if (text == nullptr) return null_argument("text");
    *text = text_of(limiter->limiter.describe());
    return {};
  });
}

limitree_status limitree_limiter_explain(limitree_limiter* limiter,
                                         const limitree_str* path,
                                         size_t path_size, limitree_text** text,
                                         limitree_error** error) {
  return guarded(error, [&]() -> Status {
    if (limiter == nullptr) return null_argument("limiter");
    if (text == nullptr) return null_argument("text");
    const limitree_path one = {path, path_size, 0};
    Question question;
    Status status = question.read({{&one, 1}});
    if (!status.ok()) return status;
    Result<std::string> explained =
        limiter->limiter.explain(question.asks()[0].path);
    if (!explained.ok()) return std::move(explained.status());
    *text = text_of(std::move(explained.value()));
    return {};
  });
}

limitree_status limitree_limiter_descriptor_stats(
    limitree_limiter* limiter, limitree_descriptor_stats* stats,
    size_t capacity, size_t* count, limitree_error** error) {
  return guarded(error, [&]() -> Status {
    if (limiter == nullptr) return null_argument("limiter");
    if (stats == nullptr && capacity != 0) return null_argument("stats");
    if (count == nullptr) return null_argument("count");
    const auto all = limiter->limiter.metric_stats();
    *count = all.size();
    for (std::size_t i = 0; i < std::min(all.size(), capacity); ++i) {
      const limitree::HitTally& tally = all[i].tally;
      stats[i] = {};
      stats[i].key = {all[i].key.data(), all[i].key.size()};
      stats[i].total_hits = tally.total_hits;
      stats[i].over_limit = tally.over_limit;
      stats[i].near_limit = tally.near_limit;
      stats[i].over_limit_with_local_cache = tally.over_limit_with_local_cache;
      stats[i].within_limit = tally.within_limit;
      stats[i].shadow_mode = tally.shadow_mode;
      stats[i].total_negative_hits = tally.total_negative_hits;
      stats[i].domain_not_found = tally.domain_not_found;
    }
    return {};
  });
}

limitree_status limitree_limiter_envoy_stats(limitree_limiter* limiter,
                                             limitree_envoy_stats* stats,
                                             limitree_error** error) {
  return guarded(error, [&]() -> Status {
    if (limiter == nullptr) return null_argument("limiter");
    if (stats == nullptr) return null_argument("stats");
    const limitree::EnvoyStats core = limiter->limiter.envoy_stats();
    *stats = {};
    stats->ok = core.totals.ok;
    stats->over_limit = core.totals.over_limit;
    stats->global_shadow_mode = core.totals.global_shadow_mode;
    stats->service_errors = core.totals.service_errors;
    stats->store_errors = core.totals.store_errors;
    stats->metric_keys = core.metric_keys;
    stats->over_cache_lookups = core.over_cache.lookups;
    stats->over_cache_hits = core.over_cache.hits;
    stats->over_cache_entries = core.over_cache.counters;
    stats->over_cache_evictions = core.over_cache.evictions;
    return {};
  });
}
