// The result of `limitree suggest`: suggestion.cpp computes it, and
// suggest_text.cpp, suggest_json.cpp and suggest_svg.cpp report.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "caller_table.hpp"
#include "command.hpp"
#include "log_reader.hpp"
#include "terminal.hpp"

namespace limitree::cli {

// What a limit of `count` per period would have done.
struct TriedLimit {
  std::int64_t count;
  std::int64_t callers_limited;       // with a burst of `count`
  std::int64_t requests_limited;      // the same
  std::optional<std::int64_t> burst;  // the least that keeps the promise
};

// A limit that keeps the promise.
struct Proposal {
  std::int64_t count;
  std::int64_t burst;
  std::int64_t callers_limited;
};

// The requests of callers in their busiest period.
struct PeriodUse {
  std::int64_t period_ns;
  std::int64_t p50;
  std::int64_t p90;
  std::int64_t p99;
  std::int64_t p999;
  std::int64_t most;
  std::vector<TriedLimit> outcomes;  // ascending
  std::optional<Proposal> proposal;
};

// A caller that the proposal would have limited, or that uses far more in a
// period than others.
struct Outlier {
  std::string name;
  std::int64_t requests;
  std::int64_t busiest;
  std::optional<std::int64_t> burst;  // needed at the rate of the proposal
  bool limited;
};

// The limits of one template.
struct Suggestion {
  // How many times the 90th percentile a caller has to use to stand out.
  static constexpr std::int64_t kFar = 10;

  std::string path;                   // the template
  std::vector<std::string> patterns;  // names of limits.yaml
  std::int64_t requests = 0;
  std::int64_t kept = 0;             // callers that the numbers are about
  std::int64_t kept_requests = 0;    // of these callers
  std::int64_t sampled = 1;          // one of how many is kept
  std::int64_t allowed_callers = 0;  // that the promise lets be limited
  std::vector<PeriodUse> periods;
  std::size_t chosen = 0;  // the period whose proposal is suggested
  std::int64_t outlier_count = 0;
  std::vector<Outlier> outliers;  // the first of them

  const std::optional<Proposal>& proposal() const {
    return periods[chosen].proposal;
  }
};

struct SuggestResult {
  LogSummary log;
  double seconds = 0;  // in all
  std::int64_t limited_share = 0;
  std::vector<Suggestion> suggestions;
};

Suggestion make_suggestion(const CallerTable& callers,
                           const Candidates& candidates,
                           const SuggestOptions& options, std::size_t chosen);

// "0.1%"
std::string share_text(std::int64_t share);

// "90s" for 90 seconds, as limits.yaml takes it; nothing is rounded.
std::string exact_duration_text(std::int64_t duration_ns);

// The limits as a limits.yaml.
std::string suggested_yaml(const SuggestResult& result);

// For people, and as one JSON object on one line, described in
// docs/command-line.md.
std::string suggest_text(const SuggestResult& result, const Terminal& terminal);
std::string suggest_json(const SuggestResult& result);

// Limits against the callers that they would have limited.
std::string suggest_svg(const SuggestResult& result);

}  // namespace limitree::cli
