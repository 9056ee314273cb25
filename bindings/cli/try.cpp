// `limitree try`: what answers would a caller get?
//
// One limiter decides all steps.  In memory it uses a clock that moves only as
// the command line says, so nothing waits, and every run gives the same
// answers.  If a store is given, it decides at the current time, with its own
// buckets.

#include <unistd.h>

#include <algorithm>
#include <span>
#include <utility>

#include "command.hpp"
#include "failure.hpp"
#include "format.hpp"
#include "limits_file.hpp"
#include "table.hpp"
#include "terminal.hpp"

namespace limitree::cli {

namespace {

struct Attempt {
  std::int64_t at_ns;  // since the start
  Decision decision;
  std::vector<limitree_level> levels;
};

class Trial {
 public:
  explicit Trial(const TryOptions& options)
      : limiter_([&] {
          const Remote& remote = options.remote;
          Config config;
          if (remote.store.empty()) {
            set_store(remote, "memory://", &config);
            config.set_clock(read_clock, &now_ns_);
          } else {
            set_store(remote, remote.store == "env" ? url_of({}) : remote.store,
                      &config);
          }
          read_limits(options.source, &config);
          return limiter_of(config);
        }()) {}

  std::vector<Attempt> make(const TryStep& step) {
    const std::vector<limitree_str> path = to_path(step.path);
    const std::int64_t requests = step.costs.at(kRequestUnit);
    std::vector<limitree_cost> costs;
    for (const auto& [unit, units] : step.costs) {
      if (unit != kRequestUnit) costs.push_back({to_str(unit), units});
    }
    std::vector<Attempt> attempts;
    now_ns_ += step.after_ns;
    for (std::int64_t i = 0; i < step.times; ++i) {
      if (i != 0) now_ns_ += step.every_ns;
      attempts.push_back(attempt(
          step, {path.data(), path.size(), requests, LIMITREE_PART_CHARGE},
          costs));
    }
    return attempts;
  }

 private:
  Attempt attempt(const TryStep& step, limitree_path path,
                  std::span<const limitree_cost> costs) {
    Attempt made{.at_ns = now_ns_ - kStartNs, .decision = {}, .levels = {}};
    made.levels.resize(kMaxLevels);
    if (step.reserves) {
      made.decision =
          limiter_.reserve({&path, 1}, costs, step.hold_ns, made.levels);
    } else {
      made.decision =
          limiter_.decide(LIMITREE_AUTHORIZE, {&path, 1}, made.levels, costs);
    }
    made.levels.resize(std::min(
        kMaxLevels, static_cast<std::size_t>(made.decision.level_count)));
    return made;
  }

  std::int64_t now_ns_ = kStartNs;
  Limiter limiter_;
};

// Who decided, unless it was the store: " (deny_cache)".
std::string source_text(std::int32_t source) {
  if (source == LIMITREE_SOURCE_STORE) return {};
  return std::string(" (") + limitree_source_name(source) + ')';
}

Cell answer_cell(const Decision& decision) {
  const std::string source = source_text(decision.source);
  if (decision.limited != 0) return {"limited" + source, Colour::kRed};
  return {"allowed" + source, Colour::kGreen};
}

// "[1, 6, 0, 2, 9]"
std::string cell_text(const Decision& decision) {
  std::string text = "[";
  for (const std::int64_t field : decision.cell()) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(field);
  }
  return text + ']';
}

void add_level_cells(const limitree_level& level, std::vector<Cell>* row) {
  const Colour colour = level.limited != 0 ? Colour::kRed : Colour::kNone;
  row->push_back({left_text(level), colour});
  row->push_back({wait_text(level.retry_after_ns), colour});
  row->push_back({duration_text(level.reset_after_ns), Colour::kNone});
}

void add_level_columns(Table* table) {
  table->add_columns(Align::kRight, {"left", "retry", "reset"});
}

// The columns of an attempt in both tables.
struct View {
  bool utf8;
  bool with_time;  // time passes between attempts
};

void add_attempt_columns(std::string response, View view, Table* table) {
  table->add_columns(Align::kRight, {"#"});
  if (view.with_time) table->add_columns(Align::kRight, {"at"});
  table->add_columns(Align::kLeft, {"answer", std::move(response)});
}

std::vector<Cell> attempt_cells(std::size_t index, const Attempt& made,
                                View view) {
  std::vector<Cell> row = {{std::to_string(index + 1)}};
  if (view.with_time) row.push_back({duration_text(made.at_ns)});
  row.push_back(answer_cell(made.decision));
  row.push_back({cell_text(made.decision)});
  return row;
}

// One row per attempt, with its levels side by side.
Table wide_table(const std::vector<Attempt>& attempts, View view) {
  Table table;
  add_attempt_columns("response", view, &table);
  for (const limitree_level& level : attempts.front().levels) {
    table.add_group(policy_title(level, view.utf8), 3);
    add_level_columns(&table);
  }
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    std::vector<Cell> row = attempt_cells(i, attempts[i], view);
    for (const limitree_level& level : attempts[i].levels) {
      add_level_cells(level, &row);
    }
    table.add_row(std::move(row));
  }
  return table;
}

// One row per level, for many levels on a narrow terminal.
Table long_table(const std::vector<Attempt>& attempts, View view) {
  Table table;
  add_attempt_columns("response, levels", view, &table);
  add_level_columns(&table);
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    table.add_row(attempt_cells(i, attempts[i], view));
    for (const limitree_level& level : attempts[i].levels) {
      std::vector<Cell> row(view.with_time ? 3 : 2);
      row.push_back({"  " + policy_title(level, view.utf8)});
      add_level_cells(level, &row);
      table.add_row(std::move(row));
    }
  }
  return table;
}

std::string step_heading(const TryStep& step, const Terminal& terminal) {
  std::string text;
  for (const std::string& segment : step.path) {
    if (!text.empty()) text += ' ';
    text += printable(segment, terminal.utf8);
  }
  std::string how;
  if (step.times > 1) {
    how += ", " + count_text(step.times) + " times";
    how += step.every_ns == 0 ? " at once"
                              : " every " + duration_text(step.every_ns);
  }
  const std::int64_t requests = step.costs.at(kRequestUnit);
  if (requests != 1) how += ", cost " + count_text(requests);
  for (const auto& [unit, units] : step.costs) {
    if (unit == kRequestUnit) continue;
    how += ", " + count_text(units) + ' ' + printable(unit, terminal.utf8);
  }
  if (step.reserves) how += ", reserved";
  if (step.hold_ns != 0) how += " for " + duration_text(step.hold_ns);
  return terminal.paint(Colour::kBold, text) + how + '\n';
}

}  // namespace

int run(const TryOptions& options) {
  const Terminal terminal = Terminal::of(STDOUT_FILENO);
  const View view = {
      .utf8 = terminal.utf8,
      .with_time = std::any_of(options.steps.begin(), options.steps.end(),
                               [](const TryStep& step) {
                                 return step.every_ns + step.after_ns != 0;
                               })};
  if (view.with_time && !options.remote.store.empty()) {
    throw UsageError(
        "--every and --after need the clock that is there without "
        "--store; see --help");
  }
  Trial trial(options);
  std::string text;
  for (const TryStep& step : options.steps) {
    const std::vector<Attempt> attempts = trial.make(step);
    Table table = wide_table(attempts, view);
    if (terminal.connected && table.width() > terminal.width) {
      table = long_table(attempts, view);
    }
    if (!text.empty()) text += '\n';
    text += step_heading(step, terminal) + table.text(terminal);
  }
  print(text);
  return kExitOk;
}

}  // namespace limitree::cli
