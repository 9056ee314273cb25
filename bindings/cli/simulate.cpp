// `limitree simulate`: what would each algorithm admit of the same traffic?
//
// The traffic comes from one caller, and shows where the algorithms differ: a
// few requests, then a burst at the end of a window, far too many requests, a
// pause, and a return.  A separate clock follows that traffic.

#include "simulate.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"
#include "failure.hpp"
#include "limitree.hpp"
#include "table.hpp"
#include "terminal.hpp"

namespace limitree::cli {

namespace {

constexpr std::int64_t kPeriods = 6;

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
  table.add_column("algorithm", Align::kLeft);
  table.add_column("admitted", Align::kRight);
  table.add_column("most in a period", Align::kRight);
  for (const Simulated& one : simulation.algorithms) {
    table.add_row({{one.name},
                   {std::to_string(one.admitted_ns.size())},
                   {std::to_string(one.most_in_a_period)}});
  }
  print(std::to_string(simulation.offered_ns.size()) + " requests, " +
        std::to_string(simulation.count) + " allowed per period\n");
  print(table.text(Terminal::of(STDOUT_FILENO)));
}

}  // namespace

int run(const SimulateOptions& options) {
  constexpr std::int64_t kShortestNs = 1'000'000;
  if (options.period_ns < kShortestNs) {
    throw UsageError("--period must not be shorter than 1ms");
  }
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
  const std::string picture = draw(simulation);
  if (options.svg == "-") {
    print(picture);
    return kExitOk;
  }
  std::ofstream file(options.svg, std::ios::binary | std::ios::trunc);
  file << picture;
  file.close();
  if (!file) throw FileError(options.svg, errno);
  print_table(simulation);
  return kExitOk;
}

}  // namespace limitree::cli
