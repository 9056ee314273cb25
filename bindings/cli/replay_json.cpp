// The result of a replay for machines. docs/command-line.md describes the
// fields.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "replay.hpp"

namespace limitree::cli {

namespace {

using Json = nlohmann::ordered_json;

Json notes_json(const std::vector<LineNote>& notes) {
  Json all = Json::array();
  for (const LineNote& note : notes) {
    all.push_back(
        {{"file", note.file}, {"line", note.line}, {"reason", note.reason}});
  }
  return all;
}

Json limits_json(const ReplayResult& result) {
  Json all = Json::array();
  for (const Counters& limit : used_limits(result)) {
    all.push_back({{"policy", limit.label},
                   {"allowed", limit["allowed"]},
                   {"limited", limit["limited"]},
                   {"shadow_limited", limit["shadow_limited"]},
                   {"near_limit", limit["near_limit"]}});
  }
  return all;
}

Json callers_json(const ReplayResult& result, std::size_t top) {
  Json all = Json::array();
  for (const HeavyHitters::Caller& caller : result.callers.top(top)) {
    all.push_back({{"caller", caller.text},
                   {"limited", caller.count},
                   {"error", caller.error}});
  }
  return all;
}

Json histogram_json(const ReplayResult& result) {
  Json bins = Json::array();
  CivilTime time = result.first;
  time.unix_s = result.histogram.begin_unix_s();
  for (const Histogram::Bin& bin : result.histogram.bins()) {
    bins.push_back({{"from", iso_text(time)},
                    {"requests", bin.requests},
                    {"limited", bin.limited}});
    time.unix_s += result.histogram.bin_seconds();
  }
  return {{"bin_seconds", result.histogram.bin_seconds()},
          {"bins", std::move(bins)}};
}

Json time_json(const ReplayResult& result, CivilTime time) {
  if (result.requests + result.skipped == 0) return nullptr;
  return iso_text(time);
}

}  // namespace

std::string replay_json(const ReplayResult& result, std::size_t top) {
  const double seconds = std::max(result.seconds, 1e-9);
  const Json all = {
      {"lines", result.lines},
      {"bytes", result.bytes},
      {"requests", result.requests},
      {"allowed", result.requests - result.limited},
      {"limited", result.limited},
      {"shadowed", result.shadowed},
      {"unlimited", result.unlimited},
      {"out_of_order", result.out_of_order},
      {"skipped", result.skipped},
      {"skipped_lines", notes_json(result.skipped_notes)},
      {"bad", result.bad},
      {"bad_lines", notes_json(result.bad_notes)},
      {"from", time_json(result, result.first)},
      {"to", time_json(result, result.last)},
      {"limits", limits_json(result)},
      {"callers", callers_json(result, top)},
      {"callers_error_bound", result.callers.error_bound()},
      {"histogram", histogram_json(result)},
      {"buckets", result.store["buckets"]},
      {"evictions", result.store["evictions"]},
      {"forgotten_limited", result.store["forgotten_limited"]},
      {"seconds", result.seconds},
      {"lines_per_second",
       static_cast<std::int64_t>(static_cast<double>(result.lines) / seconds)},
  };
  // A log may contain bytes that are not UTF-8; JSON must not.
  return all.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace limitree::cli
