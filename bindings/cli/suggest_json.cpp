// Suggested limits for machines.  docs/command-line.md describes the fields.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "suggest.hpp"

namespace limitree::cli {

namespace {

using Object = nlohmann::ordered_json;

Object or_null(const std::optional<std::int64_t>& value) {
  if (!value) return nullptr;
  return *value;
}

Object proposal_json(const std::optional<Proposal>& proposal) {
  if (!proposal) return nullptr;
  return {{"count", proposal->count},
          {"burst", proposal->burst},
          {"callers_limited", proposal->callers_limited}};
}

Object period_json(const PeriodUse& use) {
  Object candidates = Object::array();
  for (const TriedLimit& outcome : use.outcomes) {
    candidates.push_back({{"count", outcome.count},
                          {"callers_limited", outcome.callers_limited},
                          {"requests_limited", outcome.requests_limited},
                          {"burst", or_null(outcome.burst)}});
  }
  return {{"period", exact_duration_text(use.period_ns)},
          {"p50", use.p50},
          {"p90", use.p90},
          {"p99", use.p99},
          {"p99_9", use.p999},
          {"most", use.most},
          {"candidates", std::move(candidates)},
          {"proposal", proposal_json(use.proposal)}};
}

Object path_json(const Suggestion& suggestion) {
  Object periods = Object::array();
  for (const PeriodUse& use : suggestion.periods) {
    periods.push_back(period_json(use));
  }
  Object outliers = Object::array();
  for (const Outlier& outlier : suggestion.outliers) {
    outliers.push_back({{"caller", outlier.name},
                        {"requests", outlier.requests},
                        {"busiest", outlier.busiest},
                        {"burst", or_null(outlier.burst)},
                        {"limited", outlier.limited}});
  }
  const PeriodUse& chosen = suggestion.periods[suggestion.chosen];
  return {{"path", suggestion.path},
          {"requests", suggestion.requests},
          {"callers", suggestion.kept * suggestion.sampled},
          {"callers_kept", suggestion.kept},
          {"requests_kept", suggestion.kept_requests},
          {"one_of", suggestion.sampled},
          {"limited_callers", suggestion.allowed_callers},
          {"periods", std::move(periods)},
          {"suggested_period", exact_duration_text(chosen.period_ns)},
          {"outliers", std::move(outliers)},
          {"outlier_count", suggestion.outlier_count}};
}

}  // namespace

std::string suggest_json(const SuggestResult& result) {
  Object paths = Object::array();
  for (const Suggestion& suggestion : result.suggestions) {
    paths.push_back(path_json(suggestion));
  }
  Object notes = Object::array();
  for (const LineNote& note : result.log.bad_notes) {
    notes.push_back(
        {{"file", note.file}, {"line", note.line}, {"reason", note.reason}});
  }
  const bool any = result.log.lines != result.log.bad;
  Object all = {
      {"lines", result.log.lines},
      {"bytes", result.log.bytes},
      {"requests", result.log.lines - result.log.bad},
      {"out_of_order", result.log.out_of_order},
      {"bad", result.log.bad},
      {"bad_lines", std::move(notes)},
      {"from", any ? Object(iso_text(result.log.first)) : Object(nullptr)},
      {"to", any ? Object(iso_text(result.log.last)) : Object(nullptr)},
      {"share", share_text(result.limited_share)},
      {"paths", std::move(paths)},
      {"limits", suggested_yaml(result)},
      {"seconds", result.seconds},
      {"lines_per_second", lines_per_second(result.log.lines, result.seconds)},
  };
  // A log may contain bytes that are not UTF-8; JSON must not.
  return all.dump(-1, ' ', false, Object::error_handler_t::replace) + '\n';
}

}  // namespace limitree::cli
