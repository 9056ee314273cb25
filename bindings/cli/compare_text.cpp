// What two trees did with the same log, side by side, for people.

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "findings.hpp"
#include "table.hpp"

namespace limitree::cli {

namespace {

std::string more_of(std::size_t all, std::size_t shown) {
  return more_text(static_cast<std::int64_t>(all) -
                   static_cast<std::int64_t>(shown));
}

std::string signed_text(std::int64_t change) {
  return (change > 0 ? "+" : "") + count_text(change);
}

void add_change(Cell label, std::int64_t before, std::int64_t after,
                Table* table) {
  const std::int64_t change = after - before;
  table->add_row({std::move(label),
                  {count_text(before)},
                  {count_text(after)},
                  {change == 0 ? "-" : signed_text(change),
                   change == 0 ? Colour::kNone : Colour::kYellow}});
}

Table changes_table(const char* label) {
  Table table;
  table.add_columns(Align::kLeft, {label});
  table.add_columns(Align::kRight, {"before", "after", "change"});
  return table;
}

std::string totals_text(const Findings& found, const Terminal& terminal) {
  const ReplayResult& before = *found.trees.front();
  const ReplayResult& after = *found.trees.back();
  Table table = changes_table("");
  add_change({"requests"}, before.requests, after.requests, &table);
  add_change({"limited", Colour::kRed}, before.limited, after.limited, &table);
  add_change({"shadowed"}, before.shadowed, after.shadowed, &table);
  add_change({"unlimited"}, before.unlimited, after.unlimited, &table);
  add_change({"skipped"}, before.skipped, after.skipped, &table);
  // Counters that are zero in both get no line.
  const auto add_if_any = [&](const char* label, std::int64_t first,
                              std::int64_t second) {
    if (first + second == 0) return;
    add_change({label, Colour::kYellow}, first, second, &table);
  };
  add_if_any("out of order", before.out_of_order, after.out_of_order);
  add_if_any("bad lines", before.bad, after.bad);
  add_if_any("forgotten", before.store["evictions"], after.store["evictions"]);
  return table.text(terminal);
}

// The first lines that were left out.
std::string lines_left_out(const Findings& found, const Terminal& terminal) {
  const ReplayResult& before = *found.trees.front();
  const ReplayResult& after = *found.trees.back();
  return notes_text("bad lines", before.bad, before.bad_notes, terminal) +
         notes_text("skipped before", before.skipped, before.skipped_notes,
                    terminal) +
         notes_text("skipped after", after.skipped, after.skipped_notes,
                    terminal);
}

// The limits that deny in one of the trees, most first.
std::string denials_text(const Findings& found, std::size_t top,
                         const Terminal& terminal) {
  std::map<std::string_view, std::pair<std::int64_t, std::int64_t>> counts;
  for (const Counters& limit : used_limits(*found.trees.front())) {
    counts[limit.label].first = limit["limited"] + limit["shadow_limited"];
  }
  for (const Counters& limit : used_limits(*found.trees.back())) {
    counts[limit.label].second = limit["limited"] + limit["shadow_limited"];
  }
  std::erase_if(counts, [](const auto& one) {
    return one.second.first + one.second.second == 0;
  });
  if (counts.empty()) return {};
  std::vector<
      std::pair<std::string_view, std::pair<std::int64_t, std::int64_t>>>
      rows(counts.begin(), counts.end());
  std::ranges::stable_sort(rows, std::ranges::greater(), [](const auto& row) {
    return std::max(row.second.first, row.second.second);
  });
  Table table = changes_table("limit");
  for (std::size_t i = 0; i < std::min(rows.size(), top); ++i) {
    add_change({printable(rows[i].first, terminal.utf8)}, rows[i].second.first,
               rows[i].second.second, &table);
  }
  return heading("limited or shadowed, by limit", terminal) +
         table.text(terminal) + more_of(rows.size(), top);
}

std::string change_text(Outcome before, Outcome after) {
  return std::string(outcome_name(before)) + " -> " + outcome_name(after);
}

std::string limit_text(const std::string& limit, const Terminal& terminal) {
  return limit.empty() ? "-" : printable(limit, terminal.utf8);
}

std::string by_limit_text(const Flips& flips, std::size_t top,
                          const Terminal& terminal) {
  const auto rows = flips.by_limit();
  Table table;
  table.add_columns(Align::kRight, {"flips"});
  table.add_columns(Align::kLeft, {"change", "limit"});
  for (std::size_t i = 0; i < std::min(rows.size(), top); ++i) {
    const auto& [limit, before, after] = rows[i].first;
    table.add_row({{count_text(rows[i].second)},
                   {change_text(before, after)},
                   {limit_text(limit, terminal)}});
  }
  return heading("decisions that flip, by limit", terminal) +
         table.text(terminal) + more_of(rows.size(), top);
}

std::string by_path_text(const Flips& flips, std::size_t top,
                         const Terminal& terminal) {
  Table table;
  table.add_columns(Align::kRight, {"flips"});
  table.add_columns(Align::kLeft, {"path"});
  for (const HeavyHitters::Caller& path : flips.paths().top(top)) {
    const std::string about = path.error == 0 ? "" : "<= ";
    table.add_row({{about + count_text(path.count)},
                   {printable(path.text, terminal.utf8)}});
  }
  return heading("by path", terminal) + table.text(terminal);
}

std::string list_text(const Flips& flips, std::size_t top,
                      const Terminal& terminal) {
  Table table;
  table.add_columns(Align::kLeft, {"line", "time", "change", "limit", "path"});
  const std::size_t shown = std::min(flips.list().size(), top);
  for (std::size_t i = 0; i < shown; ++i) {
    const Flip& flip = flips.list()[i];
    const std::string file = flip.file == "-" ? "standard input" : flip.file;
    table.add_row(
        {{printable(file, terminal.utf8) + ':' + std::to_string(flip.line)},
         {date_time_text(flip.time)},
         {change_text(flip.before, flip.after)},
         {limit_text(flip.limit, terminal)},
         {printable(flip.path, terminal.utf8)}});
  }
  return heading("the first of them", terminal) + table.text(terminal);
}

}  // namespace

std::string compare_text(const Findings& found, std::size_t top,
                         const Terminal& terminal) {
  const Flips& flips = *found.flips;
  std::string text =
      count_text(found.trees.front()->lines) + " lines\n" +
      "before: " + printable(found.names.front(), terminal.utf8) +
      "\nafter:  " + printable(found.names.back(), terminal.utf8) + "\n\n" +
      totals_text(found, terminal) + lines_left_out(found, terminal) +
      denials_text(found, top, terminal);
  if (flips.total() == 0) return text + heading("no decision flips", terminal);
  text += heading(flips_text(flips.total()), terminal);
  if (top == 0) return text;
  return text + by_limit_text(flips, top, terminal) +
         by_path_text(flips, top, terminal) + list_text(flips, top, terminal);
}

}  // namespace limitree::cli
