// A picture of suggested limits: for each template, which part of the callers
// each limit would have limited.  Both axes are logarithmic.

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "suggest.hpp"
#include "svg.hpp"

namespace limitree::cli {

namespace {

constexpr double kWide = 900;
constexpr double kPlotLeft = 90;
constexpr double kPlotRight = 120;
constexpr double kPlotHeight = 260;
constexpr double kPlotTop = 60;
constexpr double kPlotStep = kPlotHeight + 110;
constexpr double kDecades = 5;       // of limits: 1 to 100,000
constexpr double kShareDecades = 4;  // of shares: 0.01 % to 100 %

// A dash pattern for each line, so that colors are not needed.
constexpr std::string_view kStyles =
    ".p0,.p1,.p2,.p3,.p4{fill:none;stroke-width:2}\n"
    ".p0{stroke:#1b3a66}\n.p1{stroke:#c0392b;stroke-dasharray:8 3}\n"
    ".p2{stroke:#1e7b4c;stroke-dasharray:2 3}\n"
    ".p3{stroke:#8e44ad;stroke-dasharray:9 3 2 3}\n"
    ".p4{stroke:#b9770e;stroke-dasharray:1 4}\n"
    ".chosen{fill:#333}\n";

class Curves {
 public:
  Curves(const SuggestResult& result, Svg* svg) : result_(result), svg_(svg) {}

  void draw(const Suggestion& suggestion, double top) {
    svg_->write(20, top - 30, "name",
                printable(suggestion.path, true) + ": " +
                    count_text(suggestion.kept * suggestion.sampled) +
                    " callers");
    svg_->write(20, top - 12, "small",
                "callers limited, by requests per period (burst: the same)");
    grid(top);
    for (std::size_t i = 0; i < suggestion.periods.size(); ++i) {
      curve(suggestion, i, top);
    }
    if (const auto& proposal = suggestion.proposal()) {
      const PeriodUse& use = suggestion.periods[suggestion.chosen];
      svg_->write(kPlotLeft, top + kPlotHeight + 40, "small",
                  "suggested: " + count_text(proposal->count) + " per " +
                      duration_text(use.period_ns) + ", burst " +
                      count_text(proposal->burst) + ", limits " +
                      count_text(proposal->callers_limited) + " callers");
    }
  }

 private:
  static double x(std::int64_t count) {
    return kPlotLeft + (kWide - kPlotLeft - kPlotRight) *
                           std::log10(static_cast<double>(count)) / kDecades;
  }
  // The axis ends at 0.01 %, below which there is only "none".
  static double y(double top, double share) {
    const double height =
        share <= 0 ? 0 : 1 + std::log10(share) / kShareDecades;
    return top + kPlotHeight * (1 - std::clamp(height, 0.0, 1.0));
  }

  void grid(double top) {
    for (std::int64_t count = 1; count <= 100'000; count *= 10) {
      svg_->line(x(count), top, x(count), top + kPlotHeight, "grid");
      svg_->write(x(count) - 4, top + kPlotHeight + 16, "small",
                  count_text(count));
    }
    static constexpr auto kMarks =
        std::to_array<std::pair<double, const char*>>({{1, "100%"},
                                                       {0.1, "10%"},
                                                       {0.01, "1%"},
                                                       {0.001, "0.1%"},
                                                       {0, "none"}});
    for (const std::pair<double, const char*>& mark : kMarks) {
      const double at = y(top, mark.first);
      svg_->line(kPlotLeft, at, kWide - kPlotRight, at,
                 mark.first == 0 ? "axis" : "grid");
      svg_->write(kPlotLeft - 46, at + 4, "small", mark.second);
    }
    const double promised = y(top, static_cast<double>(result_.limited_share) /
                                       static_cast<double>(kWholeShare));
    svg_->line(kPlotLeft, promised, kWide - kPlotRight, promised, "limit");
    svg_->write(kWide - kPlotRight + 6, promised + 4, "small",
                "at most " + share_text(result_.limited_share));
  }

  void curve(const Suggestion& suggestion, std::size_t period, double top) {
    const PeriodUse& use = suggestion.periods[period];
    const double callers =
        static_cast<double>(std::max<std::int64_t>(suggestion.kept, 1));
    std::string steps;
    for (const TriedLimit& outcome : use.outcomes) {
      Svg::point(x(outcome.count),
                 y(top, static_cast<double>(outcome.callers_limited) / callers),
                 &steps);
    }
    const std::string kind = "p" + std::to_string(period);
    svg_->path(kind, steps);
    const double key = kPlotLeft + 130 * static_cast<double>(period);
    const double row = top + kPlotHeight + 62;
    svg_->line(key, row, key + 36, row, kind);
    svg_->write(key + 42, row + 4, "small",
                "per " + duration_text(use.period_ns));
    if (period != suggestion.chosen || !use.proposal) return;
    const auto outcome = std::find_if(use.outcomes.begin(), use.outcomes.end(),
                                      [&](const TriedLimit& one) {
                                        return one.count == use.proposal->count;
                                      });
    svg_->square(
        x(outcome->count) - 5,
        y(top, static_cast<double>(outcome->callers_limited) / callers) - 5, 10,
        "chosen");
  }

  const SuggestResult& result_;
  Svg* svg_;
};

}  // namespace

std::string suggest_svg(const SuggestResult& result) {
  Svg svg(kWide,
          kPlotTop + kPlotStep * static_cast<double>(result.suggestions.size()),
          kStyles);
  Curves curves(result, &svg);
  double top = kPlotTop;
  for (const Suggestion& suggestion : result.suggestions) {
    curves.draw(suggestion, top);
    top += kPlotStep;
  }
  return std::move(svg).finish();
}

}  // namespace limitree::cli
