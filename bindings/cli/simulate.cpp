// `limitree simulate`: what would each algorithm admit of the same traffic?
//
// The traffic comes from one caller, and shows where the algorithms differ: a
// few requests, then a burst at the end of a window, far too many requests, a
// pause, and a return.  A separate clock follows that traffic.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"
#include "failure.hpp"
#include "format.hpp"
#include "limitree.hpp"
#include "svg.hpp"
#include "table.hpp"
#include "terminal.hpp"

namespace limitree::cli {

namespace {

constexpr std::int64_t kPeriods = 6;

// The result of one algorithm.  Times are nanoseconds since the start.
struct Simulated {
  std::string name;
  std::vector<std::int64_t> admitted_ns;  // of each request
  std::int64_t most_in_a_period = 0;      // in any interval of one period
};

struct Simulation {
  std::int64_t count = 0;  // requests per period
  std::int64_t period_ns = 0;
  std::int64_t length_ns = 0;
  std::vector<std::int64_t> offered_ns;  // times of the requests, ascending
  std::vector<Simulated> algorithms;
};

// An algorithm.
struct Kind {
  std::string name;
  std::string rules;  // of limits.yaml
};

std::vector<Kind> kinds() {
  std::vector<Kind> all;
  for (std::size_t i = 0; limitree_algorithm_at(i) != nullptr; ++i) {
    const std::string rule = limitree_algorithm_at(i);
    all.push_back({rule.substr(0, rule.find(',')), "algorithm: " + rule});
  }
  return all;
}

// Evenly spaced requests in a part of the time, in hundredths of a period.
struct Phase {
  std::int64_t from;
  std::int64_t to;
  std::int64_t percent;  // percentage of what the limit allows in that time
};

constexpr std::array kPhases = std::to_array<Phase>({
    {0, 80, 40},
    {90, 100, 1200},   // a burst at the end of the first window ...
    {100, 110, 1200},  // ... and another at the start of the second
    {150, 300, 160},
    {300, 370, 0},
    {370, 380, 900},
    {380, 600, 95},
});

std::vector<std::int64_t> traffic(const SimulateOptions& options) {
  std::vector<std::int64_t> at_ns;
  for (const Phase& phase : kPhases) {
    const std::int64_t from = options.period_ns / 100 * phase.from;
    const std::int64_t length =
        options.period_ns / 100 * (phase.to - phase.from);
    const std::int64_t requests =
        options.count * (phase.to - phase.from) * phase.percent / 10'000;
    for (std::int64_t i = 0; i < requests; ++i) {
      at_ns.push_back(from + length / requests * i);
    }
  }
  return at_ns;
}

Simulated simulate(const Kind& kind, const Simulation& simulation) {
  Simulated one;
  one.name = kind.name;
  std::int64_t now_ns = kStartNs;
  Config config;
  config.set_clock(read_clock, &now_ns);
  const std::string yaml =
      "schema: {a: {limits: {count: " + std::to_string(simulation.count) +
      ", period: " + std::to_string(simulation.period_ns) + "ns, " +
      std::string(kind.rules) + "}}}";
  config.set_limits(yaml, "--count, --period");
  Limiter limiter(config);
  const limitree_str segment = {"a", 1};
  std::size_t first = 0;  // the first within a period
  for (const std::int64_t at_ns : simulation.offered_ns) {
    now_ns = kStartNs + at_ns;
    const limitree_path path = {&segment, 1, 1, LIMITREE_PART_CHARGE};
    if (limiter.decide(LIMITREE_AUTHORIZE, {&path, 1}).limited != 0) continue;
    one.admitted_ns.push_back(at_ns);
    while (one.admitted_ns[first] <= at_ns - simulation.period_ns) ++first;
    one.most_in_a_period =
        std::max(one.most_in_a_period,
                 static_cast<std::int64_t>(one.admitted_ns.size() - first));
  }
  return one;
}

void print_table(const Simulation& simulation) {
  Table table;
  table.add_columns(Align::kLeft, {"algorithm"});
  table.add_columns(Align::kRight, {"admitted", "most in a period"});
  for (const Simulated& one : simulation.algorithms) {
    table.add_row({{one.name},
                   {std::to_string(one.admitted_ns.size())},
                   {std::to_string(one.most_in_a_period)}});
  }
  print(std::to_string(simulation.offered_ns.size()) + " requests, " +
        std::to_string(simulation.count) + " allowed per period\n");
  print(table.text(Terminal::of(STDOUT_FILENO)));
}

// ---- The picture
// -------------------------------------------------------------

constexpr double kWidth = 900;
constexpr double kLeft = 150;
constexpr double kRight = 20;
constexpr double kTop = 92;
constexpr double kPanel = 84;
constexpr double kGap = 30;
constexpr std::int64_t kBinsPerPeriod = 20;
constexpr double kAxis = 2.2;  // in counts, at the top of a panel

// A panel for each algorithm, all with the same time axis, as SVG.
class Picture {
 public:
  explicit Picture(const Simulation& simulation)
      : simulation_(simulation),
        svg_(kWidth,
             kTop + (kPanel + kGap) *
                        static_cast<double>(simulation.algorithms.size())) {}

  std::string draw() && {
    header();
    double top = kTop;
    for (const Simulated& one : simulation_.algorithms) {
      panel(one, top);
      top += kPanel + kGap;
    }
    return std::move(svg_).finish();
  }

 private:
  double x(std::int64_t at_ns) const {
    return kLeft + (kWidth - kLeft - kRight) * static_cast<double>(at_ns) /
                       static_cast<double>(simulation_.length_ns);
  }
  double y(double top, double units) const {
    const double share =
        std::min(units / static_cast<double>(simulation_.count), kAxis);
    return top + kPanel * (1 - share / kAxis);
  }

  void header() {
    svg_.write(20, 28, "name",
               std::to_string(simulation_.count) + " requests per " +
                   duration_text(simulation_.period_ns) +
                   ": what each algorithm admits of the same traffic");
    double at = 20;
    for (const auto& [kind, words] :
         {std::pair("offered", "offered"), std::pair("admitted", "admitted")}) {
      svg_.square(at, 44, 12, kind);
      svg_.write(at + 18, 54, "small",
                 std::string(words) + " per " +
                     duration_text(simulation_.period_ns / kBinsPerPeriod));
      at += 150;
    }
    svg_.line(at, 50, at + 24, 50, "line");
    svg_.write(at + 30, 54, "small", "admitted in the period that ends then");
    svg_.line(at + 250, 50, at + 274, 50, "limit");
    svg_.write(at + 280, 54, "small", "the limit");
  }

  // Draws a bar for each part of the time.
  void bars(const std::vector<std::int64_t>& times, double top,
            const std::string& kind) {
    const std::int64_t bin_ns = simulation_.period_ns / kBinsPerPeriod;
    std::string path;
    std::size_t i = 0;
    for (std::int64_t from = 0; from < simulation_.length_ns; from += bin_ns) {
      double units = 0;
      for (; i < times.size() && times[i] < from + bin_ns; ++i) units += 1;
      if (units == 0) continue;
      Svg::bar(x(from), x(from + bin_ns) - 0.6, y(top, units), y(top, 0),
               &path);
    }
    svg_.path(kind, path);
  }

  // Draws how many were admitted within the period before each time.
  void trailing(const std::vector<std::int64_t>& times, double top) {
    const std::int64_t step_ns = simulation_.period_ns / 100;
    std::string path;
    std::size_t first = 0;
    std::size_t last = 0;
    for (std::int64_t at = 0; at <= simulation_.length_ns; at += step_ns) {
      while (last < times.size() && times[last] <= at) ++last;
      while (first < last && times[first] <= at - simulation_.period_ns) {
        ++first;
      }
      Svg::point(x(at), y(top, static_cast<double>(last - first)), &path);
    }
    svg_.path("line", path);
  }

  void panel(const Simulated& one, double top) {
    for (std::int64_t at = 0; at <= simulation_.length_ns;
         at += simulation_.period_ns) {
      svg_.line(x(at), top, x(at), top + kPanel, "grid");
      svg_.write(x(at) - 8, top + kPanel + 14, "small",
                 at == 0 ? "0" : duration_text(at));
    }
    bars(simulation_.offered_ns, top, "offered");
    bars(one.admitted_ns, top, "admitted");
    const double limit = static_cast<double>(simulation_.count);
    svg_.line(kLeft, y(top, limit), kWidth - kRight, y(top, limit), "limit");
    trailing(one.admitted_ns, top);
    svg_.line(kLeft, top + kPanel, kWidth - kRight, top + kPanel, "axis");
    svg_.write(kLeft - 28, y(top, limit) + 4, "small",
               std::to_string(simulation_.count));
    svg_.write(kLeft - 28, y(top, 2 * limit) + 4, "small",
               std::to_string(2 * simulation_.count));
    svg_.write(8, top + 16, "name", one.name);
    svg_.write(8, top + 34, "small",
               std::to_string(one.admitted_ns.size()) + " of " +
                   std::to_string(simulation_.offered_ns.size()));
    svg_.write(8, top + 50, "small",
               "at most " + std::to_string(one.most_in_a_period));
  }

  const Simulation& simulation_;
  Svg svg_;
};

}  // namespace

int run(const SimulateOptions& options) {
  constexpr std::int64_t kShortestNs = 1'000'000;
  constexpr std::int64_t kLongestNs = 365 * 86'400 * kSecondNs;
  if (options.period_ns < kShortestNs) {
    throw UsageError("--period must not be shorter than 1ms");
  }
  if (options.period_ns > kLongestNs) {
    throw UsageError("--period must not be longer than 365d");
  }
  if (options.lease_ns >= 0) return simulate_leases(options);
  Simulation simulation;
  simulation.count = options.count;
  simulation.period_ns = options.period_ns;
  simulation.length_ns = kPeriods * options.period_ns;
  simulation.offered_ns = traffic(options);
  for (const Kind& kind : kinds()) {
    if (options.algorithms != "all" && options.algorithms != kind.name) {
      continue;
    }
    simulation.algorithms.push_back(simulate(kind, simulation));
  }
  if (simulation.algorithms.empty()) {
    std::string known = "all";
    for (const Kind& kind : kinds()) known += ", " + std::string(kind.name);
    throw UsageError("no algorithm is called '" + options.algorithms +
                     "'; known are: " + known);
  }
  if (options.svg.empty()) {
    print_table(simulation);
    return kExitOk;
  }
  if (keep_picture(Picture(simulation).draw(), options.svg)) {
    print_table(simulation);
  }
  return kExitOk;
}

}  // namespace limitree::cli
