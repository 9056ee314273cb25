#include "limiter/counters.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "text/number.hpp"

namespace limitree {

namespace {

using Values = CounterValues;
using enum CounterScope;

using V = const CounterValues&;
using I = std::size_t;

constexpr bool kGauge = true;

std::int64_t from(const Values& values, Source source) {
  return values.stats.totals.from(source);
}

// Answers in at most the time of bucket `i`.
std::int64_t answers(const StoreStats& stats, std::size_t i) {
  std::int64_t sum = 0;
  for (std::size_t j = 0; j <= i; ++j) sum += stats.round_trips[j];
  return sum;
}

std::int64_t store_errors(const Values& values) {
  std::int64_t sum = 0;
  for (const ReasonStats& one : values.reasons) sum += one.errors;
  return sum;
}

constexpr const char* kNotShown = "";
constexpr const char* kDecisions = "limitree_decisions_total";
constexpr const char* kLimitRequests = "limitree_limit_requests_total";

constexpr Counter kCounters[] = {
    {kSources, "allowed", kDecisions,
     "Requests decided, by who decided and by the answer.",
     [](V v, I i) { return v.stats.totals.decided[i][0]; }},
    {kSources, "limited", kDecisions, "Requests denied, by who decided.",
     [](V v, I i) { return v.stats.totals.decided[i][1]; }},

    {kRequests, "allowed", kNotShown, "Requests allowed.",
     [](V v, I) { return v.stats.totals.allowed(); }},
    {kRequests, "limited", kNotShown, "Requests denied.",
     [](V v, I) { return v.stats.totals.limited(); }},
    {kRequests, "shadow_limited", "limitree_shadow_limited_total",
     "Requests allowed that a limit in shadow mode would deny.",
     [](V v, I) { return v.stats.totals.shadow_limited; }},
    {kRequests, "soft", "limitree_soft_total",
     "Requests allowed above a capacity, by its overrun.",
     [](V v, I) { return v.stats.totals.soft; }},
    {kRequests, "errors", "limitree_errors_total",
     "Requests that could not be decided.",
     [](V v, I) { return v.stats.totals.errors; }},
    {kRequests, "from_deny_cache", kNotShown,
     "Requests decided by the deny cache.",
     [](V v, I) { return from(v, Source::kDenyCache); }},
    {kRequests, "from_local", kNotShown,
     "Requests decided by the memory of the process.",
     [](V v, I) { return from(v, Source::kLocal); }},
    {kRequests, "from_allow", kNotShown, "Requests allowed without a check.",
     [](V v, I) { return from(v, Source::kAllow); }},
    {kRequests, "from_deny", kNotShown, "Requests denied without a check.",
     [](V v, I) { return from(v, Source::kDeny); }},
    {kRequests, "from_lease", kNotShown,
     "Requests decided by a lease, each a round trip that was saved.",
     [](V v, I) { return from(v, Source::kLease); }},
    {kRequests, "reloads", "limitree_reloads_total",
     "Trees of limits swapped in.", [](V v, I) { return v.stats.reloads; }},
    {kRequests, "held", "limitree_holds_total",
     "Holds made, one of each limit.",
     [](V v, I) { return v.stats.totals.held; }},
    {kRequests, "settled", "limitree_holds_settled_total",
     "Holds that were settled or cancelled.",
     [](V v, I) { return v.stats.totals.settled; }},
    {kRequests, "ended", "limitree_holds_ended_total",
     "Holds that ended by themselves; a later request counts them.",
     [](V v, I) { return v.stats.totals.ended; }},
    {kRequests, "holds_full", "limitree_holds_full_total",
     "Requests denied because a bucket has the most holds.",
     [](V v, I) { return v.stats.totals.holds_full; }},
    {kRequests, "limits", "limitree_limits", "Limits in the tree.",
     [](V v, I) { return v.stats.limits; }, kGauge},

    {kLimits, "allowed", kLimitRequests,
     "Requests that met a limit, by what became of them there.",
     [](V v, I i) { return v.limits[i].tally.allowed; }},
    {kLimits, "limited", kLimitRequests, "Requests that a limit denied.",
     [](V v, I i) { return v.limits[i].tally.limited; }},
    {kLimits, "shadow_limited", kLimitRequests,
     "Requests that a limit in shadow mode would deny.",
     [](V v, I i) { return v.limits[i].tally.shadow_limited; }},
    {kLimits, "soft", "limitree_limit_soft_total",
     "Requests that a limit allowed above its capacity.",
     [](V v, I i) { return v.limits[i].tally.soft; }},
    {kLimits, "near_limit", "limitree_limit_near_total",
     "Requests allowed that left a limit nearly used up.",
     [](V v, I i) { return v.limits[i].tally.near_limit; }},

    {kReasons, "errors", "limitree_store_errors_total",
     "Calls to the store that failed, by reason.",
     [](V v, I i) { return v.reasons[i].errors; }},
    {kReasons, "troubles", "limitree_store_troubles_total",
     "What went wrong with servers, mended or not, by reason.",
     [](V v, I i) { return v.reasons[i].troubles; }},

    {kRoundTrips, "answers", "limitree_store_round_trip_seconds",
     "Time from asking a store to its answer.",
     [](V v, I i) { return answers(v.stats.store, i); }},

    {kStore, "connects", "limitree_store_connects_total",
     "Connections made to servers.",
     [](V v, I) { return v.stats.store.connects; }},
    {kStore, "buckets", "limitree_buckets",
     "Buckets in memory that are not full.",
     [](V v, I) { return v.stats.store.buckets; }, kGauge},
    {kStore, "max_buckets", "limitree_max_buckets",
     "The most that may be kept.",
     [](V v, I) { return v.stats.store.max_buckets; }, kGauge},
    {kStore, "store_bytes", "limitree_bucket_bytes", "Memory taken by buckets.",
     [](V v, I) { return v.stats.store.bytes; }, kGauge},
    {kStore, "evictions", "limitree_evictions_total",
     "Buckets forgotten to make room for others.",
     [](V v, I) { return v.stats.store.evictions; }},
    {kStore, "forgotten_limited", "limitree_forgotten_limited_total",
     "Of the forgotten buckets, those that would still have denied.",
     [](V v, I) { return v.stats.store.forgotten_limited; }},
    {kStore, "store_errors", kNotShown, "Calls to the store that failed.",
     [](V v, I) { return store_errors(v); }},
    {kStore, "round_trips", kNotShown, "Answers of servers.",
     [](V v, I) {
       return answers(v.stats.store, StoreStats::kRoundTripBuckets - 1);
     }},
    {kStore, "round_trip_ns", kNotShown,
     "Nanoseconds that answers of servers took, in sum.",
     [](V v, I) { return v.stats.store.round_trip_ns; }},

    {kStore, "leased", "limitree_leased_units_total",
     "Units taken in leases, to be spent by this process.",
     [](V v, I) { return v.stats.store.leased; }},
    {kStore, "lease_used", "limitree_lease_used_units_total",
     "Of the leased units, those that requests have used.",
     [](V v, I) { return v.stats.store.lease_used; }},
    {kStore, "lease_lost", "limitree_lease_lost_units_total",
     "Of the leased units, those that ended unused.",
     [](V v, I) { return v.stats.store.lease_lost; }},

    {kEnvoy, "ok", kNotShown, "Requests answered by OK.",
     [](V v, I) { return v.envoy.totals.ok; }},
    {kEnvoy, "over_limit", kNotShown, "Requests answered by OVER_LIMIT.",
     [](V v, I) { return v.envoy.totals.over_limit; }},
    {kEnvoy, "global_shadow_mode", kNotShown,
     "Requests that were allowed because the service is in shadow mode.",
     [](V v, I) { return v.envoy.totals.global_shadow_mode; }},
    {kEnvoy, "service_errors", kNotShown, "Requests that break a rule.",
     [](V v, I) { return v.envoy.totals.service_errors; }},
    {kEnvoy, "store_errors", kNotShown, "Requests that the store failed for.",
     [](V v, I) { return v.envoy.totals.store_errors; }},
    {kEnvoy, "metric_keys", kNotShown, "Names that rules have in metrics.",
     [](V v, I) { return v.envoy.metric_keys; }, kGauge},
    {kEnvoy, "over_cache_lookups", kNotShown,
     "Lookups in the cache of limits that are used up.",
     [](V v, I) { return v.envoy.over_cache.lookups; }},
    {kEnvoy, "over_cache_hits", kNotShown,
     "Lookups that found a limit used up.",
     [](V v, I) { return v.envoy.over_cache.hits; }},
    {kEnvoy, "over_cache_entries", kNotShown,
     "Limits that are known to be used up.",
     [](V v, I) { return v.envoy.over_cache.counters; }, kGauge},
    {kEnvoy, "over_cache_evictions", kNotShown,
     "Limits forgotten to make room for others.",
     [](V v, I) { return v.envoy.over_cache.evictions; }},

    {kRules, "total_hits", kNotShown, "Hits of the limit.",
     [](V v, I i) { return v.rules[i].tally.total_hits; }},
    {kRules, "over_limit", kNotShown, "Hits above the limit.",
     [](V v, I i) { return v.rules[i].tally.over_limit; }},
    {kRules, "near_limit", kNotShown, "Hits when most of the limit was used.",
     [](V v, I i) { return v.rules[i].tally.near_limit; }},
    {kRules, "over_limit_with_local_cache", kNotShown,
     "Hits above the limit that needed no store to know.",
     [](V v, I i) { return v.rules[i].tally.over_limit_with_local_cache; }},
    {kRules, "within_limit", kNotShown, "Hits within the limit.",
     [](V v, I i) { return v.rules[i].tally.within_limit; }},
    {kRules, "shadow_mode", kNotShown,
     "Hits above the limit that were allowed, because it is in shadow mode.",
     [](V v, I i) { return v.rules[i].tally.shadow_mode; }},
    {kRules, "total_negative_hits", kNotShown, "Hits that were given back.",
     [](V v, I i) { return v.rules[i].tally.total_negative_hits; }},
    {kRules, "domain_not_found", kNotShown,
     "Descriptors of a domain without limits.",
     [](V v, I i) { return v.rules[i].tally.domain_not_found; }},
};

static_assert(std::size(kCounters) <= kMostCounters);

// One value of each counter.
std::size_t one(const Values&) { return 1; }
std::string_view no_label(const Values&, std::size_t) { return {}; }

// "0.000016", ... "+Inf".
std::string_view round_trip_label(const Values&, std::size_t i) {
  static const auto labels = [] {
    std::array<std::string, StoreStats::kRoundTripBuckets> made;
    Duration bound = StoreStats::kShortestRoundTrip;
    for (std::string& label : made) {
      label = seconds_text(bound);
      bound *= 2;
    }
    made.back() = "+Inf";
    return made;
  }();
  return labels[i];
}

struct Scope {
  CounterScope scope;
  const char* label;
  std::size_t (*size)(const Values& values);
  std::string_view (*label_of)(const Values& values, std::size_t i);
};

constexpr Scope kScopes[] = {
    {kSources, "source", [](const Values&) { return kSourceCount; },
     [](const Values&, std::size_t i) {
       return std::string_view(source_name(static_cast<Source>(i)));
     }},
    {kRequests, "", one, no_label},
    {kLimits, "policy", [](const Values& v) { return v.limits.size(); },
     [](const Values& v, std::size_t i) { return v.limits[i].policy; }},
    {kReasons, "reason", [](const Values& v) { return v.reasons.size(); },
     [](const Values& v, std::size_t i) { return v.reasons[i].reason; }},
    {kRoundTrips, "le",
     [](const Values&) { return StoreStats::kRoundTripBuckets; },
     round_trip_label},
    {kStore, "", one, no_label},
    {kEnvoy, "", one, no_label},
    {kRules, "key", [](const Values& v) { return v.rules.size(); },
     [](const Values& v, std::size_t i) { return v.rules[i].key; }},
};

const Scope& scope_of(CounterScope scope) {
  return *std::ranges::find(kScopes, scope, &Scope::scope);
}

// Joins the two lists, each reason once.
std::vector<ReasonStats> reasons_of(const StoreStats& stats) {
  std::vector<ReasonStats> all;
  const auto at = [&all](const char* reason) -> ReasonStats& {
    const auto found = std::ranges::find(all, reason, &ReasonStats::reason);
    return found != all.end() ? *found : all.emplace_back(ReasonStats{reason});
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

std::span<const Counter> counters() { return kCounters; }

const char* label_name(CounterScope scope) { return scope_of(scope).label; }

std::size_t value_count(const Values& values, CounterScope scope) {
  return scope_of(scope).size(values);
}

std::string_view label_of(const Values& values, CounterScope scope,
                          std::size_t i) {
  return scope_of(scope).label_of(values, i);
}

CounterValues read_counters(Limiter* limiter, std::uint32_t scopes) {
  const auto wants = [scopes](auto... scope) {
    return (scopes & (to_bit(scope) | ...)) != 0;
  };
  CounterValues values;
  if (wants(kSources, kRequests, kReasons, kRoundTrips, kStore)) {
    values.stats = limiter->stats();
    values.reasons = reasons_of(values.stats.store);
  }
  if (wants(kLimits)) values.limits = limiter->policy_stats();
  if (wants(kEnvoy)) values.envoy = limiter->envoy_stats();
  if (wants(kRules)) values.rules = limiter->metric_stats();
  return values;
}

}  // namespace limitree
