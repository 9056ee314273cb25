// Suggested limits for people.

#include <algorithm>
#include <cmath>
#include <utility>

#include "limitree.hpp"
#include "suggest.hpp"
#include "table.hpp"

namespace limitree::cli {

namespace {

// How many candidates of a period are shown.
constexpr std::size_t kMaxShown = 5;

std::string plural(std::int64_t count, const char* noun) {
  return count_text(count) + ' ' + noun + (count == 1 ? "" : "s");
}

std::string rate_text(std::int64_t count, std::int64_t period_ns) {
  return count_text(count) + " per " + duration_text(period_ns);
}

// What a share of callers may be off by if only some callers are kept: in 19 of
// 20 samples it is not.  If a sample shows none, there may be 3 of its size.
std::string sample_text(const Suggestion& suggestion, std::int64_t share) {
  if (suggestion.sampled == 1) return {};
  const double part =
      static_cast<double>(share) / static_cast<double>(kWholeShare);
  const auto kept =
      static_cast<double>(std::max<std::int64_t>(suggestion.kept, 1));
  const double error = std::min(
      std::max(1.96 * std::sqrt(part * (1 - part) / kept), 3 / kept), 1.0);
  const auto error_share =
      std::llround(std::ceil(error * static_cast<double>(kWholeShare)));
  return "  one caller of " + count_text(suggestion.sampled) +
         " is kept, at random: " + count_text(suggestion.kept) + " of about " +
         count_text(suggestion.kept * suggestion.sampled) +
         ";\n  with all of them, " + share_text(share) + " may be off by " +
         share_text(error_share) + "; see --max-callers\n";
}

// Limits of a log in the wrong order are wrong, and look as any other.
std::string order_text(const LogSummary& log) {
  if (log.out_of_order == 0) return {};
  return plural(log.out_of_order, "line") +
         " out of order, counted at the latest time seen before\n";
}

std::string use_text(const Suggestion& suggestion, const Terminal& terminal) {
  Table table;
  table.add_columns(Align::kRight, {"period"});
  for (const char* const name : {"p50", "p90", "p99", "p99.9", "most"}) {
    table.add_columns(Align::kRight, {name});
  }
  for (const PeriodUse& use : suggestion.periods) {
    table.add_row({{duration_text(use.period_ns)},
                   {count_text(use.p50)},
                   {count_text(use.p90)},
                   {count_text(use.p99)},
                   {count_text(use.p999)},
                   {count_text(use.most)}});
  }
  return heading("requests of a caller in its busiest period", terminal, 2) +
         indented(table.text(terminal), 4);
}

// The candidates of a period that say something: the last that limit callers,
// and the first that limits none.
std::pair<std::size_t, std::size_t> shown(
    const std::vector<TriedLimit>& outcomes) {
  const auto none = std::find_if(
      outcomes.begin(), outcomes.end(),
      [](const TriedLimit& outcome) { return outcome.callers_limited == 0; });
  const auto end = std::min<std::size_t>(
      static_cast<std::size_t>(none - outcomes.begin()) + 1, outcomes.size());
  return {end - std::min(end, kMaxShown), end};
}

std::string outcomes_text(const Suggestion& suggestion, std::int64_t share,
                          const Terminal& terminal) {
  Table table;
  table.add_columns(Align::kRight, {"limit", "callers", "", "requests", "",
                                    "burst for " + share_text(share)});
  for (const PeriodUse& use : suggestion.periods) {
    const std::pair<std::size_t, std::size_t> range = shown(use.outcomes);
    for (std::size_t i = range.first; i < range.second; ++i) {
      const TriedLimit& outcome = use.outcomes[i];
      table.add_row(
          {{rate_text(outcome.count, use.period_ns)},
           {count_text(outcome.callers_limited)},
           {percent_text(outcome.callers_limited, suggestion.kept)},
           {count_text(outcome.requests_limited)},
           {percent_text(outcome.requests_limited, suggestion.kept_requests)},
           {outcome.burst ? count_text(*outcome.burst) : "-"}});
    }
  }
  return heading("limited by", terminal, 2) + indented(table.text(terminal), 4);
}

std::string proposals_text(const Suggestion& suggestion, std::int64_t share,
                           const Terminal& terminal) {
  Table table;
  table.add_columns(Align::kRight, {"limit", "burst", "callers limited"});
  table.add_columns(Align::kLeft, {""});
  for (const PeriodUse& use : suggestion.periods) {
    if (!use.proposal) continue;
    table.add_row(
        {{rate_text(use.proposal->count, use.period_ns)},
         {count_text(use.proposal->burst)},
         {count_text(use.proposal->callers_limited)},
         {&use == &suggestion.periods[suggestion.chosen] ? "suggested" : ""}});
  }
  return heading("to limit at most " + share_text(share) + " of the callers: " +
                     plural(suggestion.allowed_callers, "caller"),
                 terminal, 2) +
         indented(table.text(terminal), 4);
}

std::string outliers_text(const Suggestion& suggestion,
                          const Terminal& terminal) {
  if (suggestion.outliers.empty()) return {};
  const PeriodUse& use = suggestion.periods[suggestion.chosen];
  Table table;
  table.add_columns(Align::kRight,
                    {"requests", "in a busy " + duration_text(use.period_ns),
                     "burst needed"});
  table.add_columns(Align::kLeft, {"caller"});
  for (const Outlier& outlier : suggestion.outliers) {
    table.add_row({{count_text(outlier.requests)},
                   {count_text(outlier.busiest)},
                   {outlier.burst ? count_text(*outlier.burst) : "-",
                    outlier.limited ? Colour::kRed : Colour::kNone},
                   {printable(outlier.name, terminal.utf8) +
                    (outlier.limited ? "  (limited)" : "")}});
  }
  const auto more = suggestion.outlier_count -
                    static_cast<std::int64_t>(suggestion.outliers.size());
  return heading("callers that stand out", terminal, 2) +
         indented(table.text(terminal), 4) + indented(more_text(more), 4);
}

std::string one_text(const Suggestion& suggestion, std::int64_t share,
                     const Terminal& terminal) {
  std::string text =
      '\n' +
      terminal.paint(Colour::kBold, printable(suggestion.path, terminal.utf8)) +
      "\n  " + plural(suggestion.kept * suggestion.sampled, "caller") + ", " +
      plural(suggestion.requests, "request") + '\n';
  if (suggestion.kept == 0) return text;
  return text + sample_text(suggestion, share) +
         use_text(suggestion, terminal) +
         outcomes_text(suggestion, share, terminal) +
         proposals_text(suggestion, share, terminal) +
         outliers_text(suggestion, terminal);
}

}  // namespace

std::string share_text(std::int64_t share) {
  std::string text = std::to_string(share / (kWholeShare / 100));
  const std::int64_t rest = share % (kWholeShare / 100);
  if (rest != 0) {
    std::string fraction = std::to_string(rest);
    fraction.insert(0, 6 - fraction.size(), '0');
    fraction.erase(fraction.find_last_not_of('0') + 1);
    text += '.' + fraction;
  }
  return text + '%';
}

std::string suggest_text(const SuggestResult& result,
                         const Terminal& terminal) {
  std::string text =
      summary_text(result.log) + '\n' + order_text(result.log) +
      notes_text("bad lines", result.log.bad, result.log.bad_notes, terminal);
  for (const Suggestion& suggestion : result.suggestions) {
    text += one_text(suggestion, result.limited_share, terminal);
  }
  const std::string limits = suggested_yaml(result);
  if (limits.empty()) return text + "\nno limits to suggest\n";
  return text + heading("limits.yaml", terminal) + limits +
         speed_text("done", result.log.lines, result.seconds, terminal);
}

}  // namespace limitree::cli
