// The result of a replay for people.

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "command.hpp"
#include "findings.hpp"
#include "limitree.hpp"
#include "table.hpp"

namespace limitree::cli {

namespace {

constexpr std::int64_t kMinuteSeconds = 60;
constexpr std::int64_t kDaySeconds = 86'400;

std::string summary(const ReplayResult& result, const Terminal& terminal) {
  Table table;
  table.add_columns(Align::kLeft, {""});
  table.add_columns(Align::kRight, {"", ""});
  table.add_columns(Align::kLeft, {""});
  const auto add = [&](Cell label, std::int64_t count, std::int64_t of,
                       std::string remark) {
    table.add_row({std::move(label),
                   {count_text(count)},
                   {of == 0 ? "" : percent_text(count, of)},
                   {std::move(remark), Colour::kDim}});
  };
  // Counters that are zero get no line.
  const auto add_if_any = [&](const char* label, std::int64_t count,
                              std::int64_t of, const char* remark) {
    if (count != 0) add({label, Colour::kYellow}, count, of, remark);
  };
  const std::int64_t requests = result.requests;
  add({"requests"}, requests, 0, "");
  add({"allowed", Colour::kGreen}, requests - result.limited, requests, "");
  add({"limited", Colour::kRed}, result.limited, requests, "");
  add_if_any("shadowed", result.shadowed, requests,
             "allowed, but not if shadow limits counted");
  add_if_any("unlimited", result.unlimited, requests, "met no limit");
  add_if_any("out of order", result.out_of_order, requests,
             "decided at the latest time seen before");
  add_if_any("skipped", result.skipped, 0, "refused by the limits");
  add_if_any("bad lines", result.bad, 0, "not in the format of an access log");
  add_if_any("forgotten", result.store["evictions"], 0,
             "buckets; raise --max-buckets");
  add_if_any("of them limited", result.store["forgotten_limited"], 0,
             "so some callers were allowed too much");
  return indented(table.body(terminal));
}

std::string limits_text(const ReplayResult& result, std::size_t top,
                        const Terminal& terminal) {
  std::vector<Counters> limits = used_limits(result);
  if (limits.empty()) return {};
  const auto more =
      static_cast<std::int64_t>(limits.size()) - static_cast<std::int64_t>(top);
  limits.resize(std::min(limits.size(), top));
  Table table;
  table.add_columns(Align::kRight,
                    {"limited", "shadowed", "near limit", "allowed"});
  table.add_columns(Align::kLeft, {"limit"});
  for (const Counters& limit : limits) {
    const std::int64_t limited = limit["limited"];
    const std::int64_t shadowed = limit["shadow_limited"];
    table.add_row(
        {{count_text(limited), limited != 0 ? Colour::kRed : Colour::kNone},
         {count_text(shadowed),
          shadowed != 0 ? Colour::kYellow : Colour::kNone},
         {count_text(limit["near_limit"])},
         {count_text(limit["allowed"])},
         {printable(limit.label, terminal.utf8)}});
  }
  return heading("by limit", terminal) + indented(table.text(terminal)) +
         indented(more_text(more));
}

std::string callers_text(const ReplayResult& result, std::size_t top,
                         const Terminal& terminal) {
  const std::vector<HeavyHitters::Caller> callers = result.callers.top(top);
  if (callers.empty()) return {};
  Table table;
  table.add_columns(Align::kRight, {"limited"});
  table.add_columns(Align::kLeft, {"caller"});
  for (const HeavyHitters::Caller& caller : callers) {
    const std::string about = caller.error == 0 ? "" : "<= ";
    table.add_row({{about + count_text(caller.count), Colour::kRed},
                   {printable(caller.text, terminal.utf8)}});
  }
  std::string text =
      heading("by caller", terminal) + indented(table.text(terminal));
  if (const bool exact =
          std::all_of(callers.begin(), callers.end(),
                      [](const auto& caller) { return caller.error == 0; });
      !exact) {
    text += "  counts marked <= are at most " +
            count_text(result.callers.error_bound()) + " too large\n";
  }
  return text;
}

// The label of a bin, next to the labels around it.
std::string bin_label(CivilTime time, std::int64_t width_s, bool one_day) {
  if (width_s >= kDaySeconds) return date_text(time);
  std::string clock = clock_text(time);
  if (width_s >= kMinuteSeconds) clock.resize(5);
  return one_day ? clock : date_text(time).substr(5) + ' ' + clock;
}

std::string repeated(std::string_view text, std::int64_t count) {
  std::string all;
  for (std::int64_t i = 0; i < count; ++i) all += text;
  return all;
}

// The requests of a bin as cells, where `most` requests fill `cells`.  Even a
// small number of limited requests gets a cell.
std::string bar(const Histogram::Bin& bin, std::int64_t most,
                std::int64_t cells, const Terminal& terminal) {
  const auto scaled = [&](std::int64_t count) -> std::int64_t {
    const double size = static_cast<double>(count) / static_cast<double>(most) *
                        static_cast<double>(cells);
    return count == 0 ? 0 : std::max<std::int64_t>(std::llround(size), 1);
  };
  const std::int64_t red = scaled(bin.limited);
  const std::int64_t plain = std::max<std::int64_t>(
      scaled(bin.requests) - red, bin.requests > bin.limited ? 1 : 0);
  const std::string_view full = terminal.utf8 ? "\u2588" : "#";
  const std::string_view shaded = terminal.utf8 ? "\u2592" : "x";
  return repeated(full, plain) +
         terminal.paint(Colour::kRed, repeated(shaded, red));
}

std::string histogram_text(const ReplayResult& result,
                           const Terminal& terminal) {
  const Histogram& histogram = result.histogram;
  std::int64_t most = 0;
  for (const Histogram::Bin& bin : histogram.bins()) {
    most = std::max(most, bin.requests);
  }
  if (most == 0) return {};
  const bool one_day = date_text(result.first) == date_text(result.last);
  const std::int64_t cells = terminal.width > 120  ? 80
                             : terminal.width < 80 ? 20
                                                   : 42;
  Table table;
  table.add_columns(Align::kLeft, {offset_text(result.first)});
  table.add_columns(Align::kRight, {"requests", "limited"});
  const std::string bars =
      terminal.utf8 ? "\u2588 allowed  \u2592 limited" : "# allowed  x limited";
  table.add_columns(Align::kLeft, {bars});
  CivilTime time = result.first;
  time.unix_s = histogram.begin_unix_s();
  for (const Histogram::Bin& bin : histogram.bins()) {
    table.add_row({{bin_label(time, histogram.bin_seconds(), one_day)},
                   {count_text(bin.requests)},
                   {count_text(bin.limited),
                    bin.limited != 0 ? Colour::kRed : Colour::kNone},
                   {bar(bin, most, cells, terminal)}});
    time.unix_s += histogram.bin_seconds();
  }
  const std::string width = duration_text(histogram.bin_seconds() * kSecondNs);
  return heading("over time, " + width + " each", terminal) +
         indented(table.text(terminal));
}

}  // namespace

std::vector<Counters> used_limits(const ReplayResult& result) {
  const auto denials = [](const Counters& limit) {
    return std::pair(limit["limited"], limit["shadow_limited"]);
  };
  std::vector<Counters> limits;
  for (const Counters& limit : result.limits) {
    const auto [limited, shadowed] = denials(limit);
    if (limit["allowed"] + limited + shadowed != 0) limits.push_back(limit);
  }
  std::ranges::stable_sort(limits, std::ranges::greater(), denials);
  return limits;
}

std::string replay_text(const ReplayResult& result, std::size_t top,
                        const Terminal& terminal) {
  return summary_text(result) + "\n\n" + summary(result, terminal) +
         notes_text("bad lines", result.bad, result.bad_notes, terminal) +
         notes_text("skipped", result.skipped, result.skipped_notes, terminal) +
         limits_text(result, top, terminal) +
         callers_text(result, top, terminal) +
         histogram_text(result, terminal) +
         speed_text("replayed", result.lines, result.seconds, terminal);
}

}  // namespace limitree::cli
