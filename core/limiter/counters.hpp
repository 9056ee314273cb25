// The one table of the counters of a limiter: the C interface and, through it,
// all languages, Prometheus, StatsD and the service read them from here.
//
// To add a counter, count it in a struct of metrics.hpp or hit_metrics.hpp, and
// give it a row in counters.cpp.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/limiter.hpp"

namespace limitree {

// What counters are about.  A set of scopes has the bits of all of them.
enum class CounterScope : std::uint32_t {
  kSources = 1u << 0,     // requests, by Source
  kRequests = 1u << 1,    // requests and the tree
  kLimits = 1u << 2,      // each limit
  kReasons = 1u << 3,     // failures of the store, by reason
  kRoundTrips = 1u << 4,  // answers of the store, by the time they took
  kStore = 1u << 5,
  kEnvoy = 1u << 6,  // requests of Envoy
  kRules = 1u << 7,  // each name that rules have in metrics
};

constexpr std::uint32_t to_bit(CounterScope scope) {
  return static_cast<std::uint32_t>(scope);
}
// All scopes of requests, limits and the store: the text for Prometheus.
inline constexpr std::uint32_t kPrometheusScopes =
    to_bit(CounterScope::kEnvoy) - 1;

// Why and how often a store failed.
struct ReasonStats {
  std::string_view reason;  // static storage
  std::int64_t errors = 0;
  std::int64_t troubles = 0;
};

// The values at one moment, of the scopes that were read.
struct CounterValues {
  LimiterStats stats;
  std::vector<PolicyStats> limits;
  std::vector<MetricStats> rules;
  std::vector<ReasonStats> reasons;
  EnvoyStats envoy;
};

// Reads what the scopes in the set need.
CounterValues read_counters(Limiter* limiter, std::uint32_t scopes);

// A row of the table.
struct Counter {
  CounterScope scope;
  const char* name;    // unique in its scope
  const char* family;  // in the text for Prometheus; empty: it is not there
  const char* help;
  // The value number `i` of those that a scope has.
  std::int64_t (*value)(const CounterValues& values, std::size_t i);
  bool is_gauge = false;  // whether it can fall
};

// All counters, scope after scope.
std::span<const Counter> counters();
inline constexpr std::size_t kMostCounters = 64;

// The label that tells the values of a counter apart: its name, which is empty
// if there is one value; how many there are; and the label of each, which lives
// as long as the limiter.
const char* label_name(CounterScope scope);
std::size_t value_count(const CounterValues& values, CounterScope scope);
std::string_view label_of(const CounterValues& values, CounterScope scope,
                          std::size_t i);

// The text that Prometheus reads.  There is a series for each limit of the
// trees loaded so far, each source, and each reason of an error; there are none
// for callers.
std::string prometheus_text(const CounterValues& values);

}  // namespace limitree
