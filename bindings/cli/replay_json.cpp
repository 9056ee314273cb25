// The result of a replay for machines. docs/command-line.md describes the
// fields.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "findings.hpp"

namespace limitree::cli {

namespace {

using Json = nlohmann::ordered_json;

// A report is less than 2 MB, whatever the log: a caller has at most 200 bytes,
// which are at most 1200 in a report, and a timeline a few hundred numbers.
constexpr std::size_t kReportLimits = 1000;
constexpr std::size_t kReportCallers = 400;  // the most of all trees together
constexpr std::size_t kReportTimelines = 40;

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

Json caller_json(const HeavyHitters::Caller& caller) {
  return {{"caller", caller.text},
          {"limited", caller.count},
          {"error", caller.error}};
}

Json callers_json(const HeavyHitters& callers, std::size_t top) {
  Json all = Json::array();
  for (const HeavyHitters::Caller& caller : callers.top(top)) {
    all.push_back(caller_json(caller));
  }
  return all;
}

// The same, and those that are among the first of `others`: a report compares
// the numbers of both.
Json joined_callers_json(const HeavyHitters& callers,
                         const HeavyHitters& others, std::size_t top) {
  std::set<std::string> wanted;
  for (HeavyHitters::Caller& caller : others.top(top)) {
    wanted.insert(std::move(caller.text));
  }
  Json all = Json::array();
  for (const HeavyHitters::Caller& caller :
       callers.top(ReplayResult::kCounters)) {
    const bool is_wanted = wanted.erase(caller.text) != 0;
    if (all.size() < top || is_wanted) all.push_back(caller_json(caller));
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

Json result_json(const ReplayResult& result, std::size_t top) {
  return {
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
      {"callers", callers_json(result.callers, top)},
      {"callers_error_bound", result.callers.error_bound()},
      {"histogram", histogram_json(result)},
      {"buckets", result.store["buckets"]},
      {"evictions", result.store["evictions"]},
      {"forgotten_limited", result.store["forgotten_limited"]},
      {"seconds", result.seconds},
      {"lines_per_second", lines_per_second(result.lines, result.seconds)},
  };
}

Json flip_json(const Flip& flip) {
  return {{"file", flip.file},
          {"line", flip.line},
          {"time", iso_text(flip.time)},
          {"before", outcome_name(flip.before)},
          {"after", outcome_name(flip.after)},
          {"policy", flip.limit},
          {"path", flip.path}};
}

Json flips_json(const Flips& flips, std::size_t top) {
  Json limits = Json::array();
  for (const auto& [kind, count] : flips.by_limit()) {
    limits.push_back({{"policy", std::get<0>(kind)},
                      {"before", outcome_name(std::get<1>(kind))},
                      {"after", outcome_name(std::get<2>(kind))},
                      {"flips", count}});
  }
  Json paths = Json::array();
  for (const HeavyHitters::Caller& path : flips.paths().top(top)) {
    paths.push_back(
        {{"path", path.text}, {"flips", path.count}, {"error", path.error}});
  }
  Json list = Json::array();
  for (const Flip& flip : flips.list()) list.push_back(flip_json(flip));
  return {{"total", flips.total()},
          {"limits", std::move(limits)},
          {"paths", std::move(paths)},
          {"paths_error_bound", flips.paths().error_bound()},
          {"list", std::move(list)}};
}

// The fields of bins as one array each: a report has hundreds of bins.
Json timeline_json(const ReplayResult& result) {
  const Histogram& histogram = result.timeline->histogram();
  Json requests = Json::array();
  Json limited = Json::array();
  Json shadowed = Json::array();
  for (const Histogram::Bin& bin : histogram.bins()) {
    requests.push_back(bin.requests);
    limited.push_back(bin.limited);
    shadowed.push_back(bin.shadowed);
  }
  return {
      {"begin", histogram.begin_unix_s()},   {"step", histogram.bin_seconds()},
      {"offset", result.first.utc_offset_s}, {"requests", std::move(requests)},
      {"limited", std::move(limited)},       {"shadowed", std::move(shadowed)}};
}

// What the limits that denied most did in each bin.
Json limit_timelines_json(const ReplayResult& result) {
  Json all = Json::object();
  for (const Counters& limit : used_limits(result)) {
    if (all.size() >= kReportTimelines) break;
    const std::vector<Timeline::Counts> bins = result.timeline->of(limit.label);
    if (bins.empty()) break;
    Json& one = all[std::string(limit.label)];
    for (std::size_t i = 0; i < Timeline::kNames.size(); ++i) {
      Json& values = one[Timeline::kNames[i]] = Json::array();
      for (const Timeline::Counts& counts : bins) values.push_back(counts[i]);
    }
  }
  return all;
}

// Leaves as many of "limits" as a report shows.
void cut_limits(Json* json) {
  Json& limits = (*json)["limits"];
  (*json)["more_limits"] = 0;
  if (limits.size() <= kReportLimits) return;
  (*json)["more_limits"] = limits.size() - kReportLimits;
  limits.erase(limits.begin() + kReportLimits, limits.end());
}

// With as many callers.
Json tree_json(const std::string& name, const ReplayResult& result,
               std::size_t callers) {
  Json tree = result_json(result, callers);
  tree["name"] = name;
  cut_limits(&tree);
  tree["shadow_callers"] =
      callers_json(result.timeline->shadow_callers(), callers);
  tree["timeline"] = timeline_json(result);
  tree["limit_timelines"] = limit_timelines_json(result);
  return tree;
}

// A log may contain bytes that are not UTF-8; JSON must not.
std::string text_of(const Json& json, bool only_ascii) {
  return json.dump(-1, ' ', only_ascii, Json::error_handler_t::replace);
}

}  // namespace

std::string replay_json(const Findings& found, std::size_t top) {
  Json all = result_json(*found.trees.front(), top);
  if (found.flips != nullptr) {
    all["compared"] = result_json(*found.trees.back(), top);
    all["flips"] = flips_json(*found.flips, top);
  }
  return text_of(all, false) + '\n';
}

std::string report_data(const Findings& found) {
  const std::size_t callers = kReportCallers / found.trees.size();
  Json trees = Json::array();
  for (std::size_t i = 0; i < found.trees.size(); ++i) {
    trees.push_back(tree_json(found.names[i], *found.trees[i], callers));
    if (found.trees.size() == 1) continue;
    trees.back()["callers"] = joined_callers_json(
        found.trees[i]->callers, found.trees[1 - i]->callers, callers);
    trees.back().erase("shadow_callers");  // nothing compares them
  }
  Json all = {{"version", limitree_version()},
              {"logs", found.logs},
              {"trees", std::move(trees)},
              {"flips", nullptr}};
  if (found.flips != nullptr) {
    all["flips"] = flips_json(*found.flips, callers);
    cut_limits(&all["flips"]);
  }
  return text_of(all, true);
}

}  // namespace limitree::cli
