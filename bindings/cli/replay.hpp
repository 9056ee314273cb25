// The result of a replay: replay.cpp counts, replay_text.cpp and
// replay_json.cpp report.

#ifndef LIMITREE_CLI_REPLAY_HPP
#define LIMITREE_CLI_REPLAY_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "format.hpp"
#include "heavy_hitters.hpp"
#include "histogram.hpp"
#include "limitree.hpp"
#include "terminal.hpp"

namespace limitree::cli {

// A line that was not replayed.
struct LineNote {
  std::string file;
  std::int64_t line;  // the first one is 1
  std::string reason;
};

struct ReplayResult {
  // How many notes about bad and about skipped lines are kept.
  static constexpr std::size_t kMaxNotes = 5;

  // 4096 counters find each caller with more than 0.025 % of all denials.
  static constexpr std::size_t kCounters = 4096;

  std::int64_t lines = 0;
  std::int64_t bytes = 0;     // unpacked, without line ends
  std::int64_t bad = 0;       // not a line of an access log
  std::int64_t skipped = 0;   // the limits refused its path
  std::int64_t requests = 0;  // all others
  std::int64_t limited = 0;
  std::int64_t shadowed = 0;      // denied only by limits in shadow mode
  std::int64_t unlimited = 0;     // met no limit
  std::int64_t out_of_order = 0;  // earlier than a line before
  std::vector<LineNote> bad_notes;
  std::vector<LineNote> skipped_notes;

  // The times of the first and last request, in the zone of the first.
  CivilTime first{};
  CivilTime last{};

  HeavyHitters callers{kCounters};  // by denials
  Histogram histogram;
  std::vector<Counters> limits;
  Counters store;
  double seconds = 0;  // duration of the replay
};

// The limits that requests met, in falling order of denials.
std::vector<Counters> used_limits(const ReplayResult& result);

// For people.  Shows at most `top` limits and callers.
std::string replay_text(const ReplayResult& result, std::size_t top,
                        const Terminal& terminal);

// One JSON object on one line, described in docs/command-line.md.
std::string replay_json(const ReplayResult& result, std::size_t top);

}  // namespace limitree::cli

#endif  // LIMITREE_CLI_REPLAY_HPP
