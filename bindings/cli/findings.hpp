// The result of a replay: replay.cpp and tree_replay.cpp count,
// replay_text.cpp, compare_text.cpp, replay_json.cpp and replay_html.cpp
// report.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flips.hpp"
#include "format.hpp"
#include "heavy_hitters.hpp"
#include "histogram.hpp"
#include "limitree.hpp"
#include "log_reader.hpp"
#include "terminal.hpp"
#include "timeline.hpp"

namespace limitree::cli {

struct ReplayResult : LogSummary {
  // 4096 counters find each caller with more than 0.025 % of all denials.
  static constexpr std::size_t kCounters = 4096;

  std::int64_t skipped = 0;   // lines whose path the limits refused
  std::int64_t requests = 0;  // all others
  std::int64_t limited = 0;
  std::int64_t shadowed = 0;   // denied only by limits in shadow mode
  std::int64_t unlimited = 0;  // met no limit
  std::vector<LineNote> skipped_notes;

  HeavyHitters callers{kCounters};  // by denials
  Histogram histogram;
  std::vector<Counters> limits;
  Counters store;
  std::optional<Timeline> timeline;  // for a report
  double seconds = 0;                // duration of the replay
};

// What one replay found: by one tree, or by two on the same log.
struct Findings {
  std::vector<std::string> logs;
  std::vector<std::string> names;  // of the files of limits
  std::vector<const ReplayResult*> trees;
  const Flips* flips = nullptr;  // of two trees
};

// The limits that requests met, in falling order of denials.
std::vector<Counters> used_limits(const ReplayResult& result);

// For people.  Shows at most `top` limits and callers.
std::string replay_text(const ReplayResult& result, std::size_t top,
                        const Terminal& terminal);

// The same for two trees.
std::string compare_text(const Findings& found, std::size_t top,
                         const Terminal& terminal);

// One JSON object on one line, described in docs/command-line.md.
std::string replay_json(const Findings& found, std::size_t top);

// What the report shows, as JSON that has only ASCII.
std::string report_data(const Findings& found);

// A page that needs nothing else.
std::string replay_html(const Findings& found);

}  // namespace limitree::cli
