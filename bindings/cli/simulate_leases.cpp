// `limitree simulate --lease`: what do leases save, and what do they admit?
//
// Several processes share one limit.  Each is a limiter of its own, and all
// have their buckets in one file and the same clock, which follows the traffic.
// A round trip is a request that a limiter could not decide by itself: not from
// a lease, and not because an earlier denial still holds, which the deny cache
// in front of a server knows.

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
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

constexpr std::int64_t kLeasePeriods = 10;
constexpr std::int64_t kBinsInPeriod = 10;
constexpr std::size_t kAllBins = kLeasePeriods * kBinsInPeriod;

struct Arrival {
  std::int64_t at_ns;  // since the start
  std::size_t process;
};

// What happened in one part of the time.
struct Bin {
  std::int64_t offered = 0;
  std::int64_t admitted = 0;
  std::int64_t trips = 0;
};

struct Course {
  std::array<Bin, kAllBins> bins;

  Bin total() const {
    Bin all;
    for (const Bin& bin : bins) {
      all.offered += bin.offered;
      all.admitted += bin.admitted;
      all.trips += bin.trips;
    }
    return all;
  }
};

// SplitMix64: the same numbers on all systems.
class Numbers {
 public:
  std::uint64_t next() {
    std::uint64_t value = state_ += 0x9e3779b97f4a7c15;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
    value = (value ^ value >> 27) * 0x94d049bb133111eb;
    return value ^ value >> 31;
  }

 private:
  std::uint64_t state_ = 0;
};

// As many requests as the load says, at any time and to any process: what a
// Poisson process is once the number of its events is known.
std::vector<Arrival> arrivals(const SimulateOptions& options) {
  const std::int64_t length_ns = kLeasePeriods * options.period_ns;
  Numbers numbers;
  std::vector<Arrival> all(static_cast<std::size_t>(
      options.count * kLeasePeriods * options.load / 100));
  for (Arrival& one : all) {
    one.at_ns = static_cast<std::int64_t>(
        numbers.next() % static_cast<std::uint64_t>(length_ns));
    one.process = static_cast<std::size_t>(
        numbers.next() % static_cast<std::uint64_t>(options.processes));
  }
  std::ranges::sort(all, {}, &Arrival::at_ns);
  return all;
}

// A folder that is removed at the end.
class Folder {
 public:
  Folder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "limitree-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw FileError(name, errno);
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// One process, as far as its limiter goes.
class Process {
 public:
  explicit Process(const Config& config) : limiter_(config) {}

  void ask(std::int64_t at_ns, Bin* bin) {
    static constexpr std::string_view kSegment = "a";
    const limitree_str segment = to_str(kSegment);
    const Decision decision = limiter_.authorize({&segment, 1});
    const bool is_known = decision.source == LIMITREE_SOURCE_LEASE ||
                          (decision.limited != 0 && at_ns < denied_until_ns_);
    ++bin->offered;
    bin->admitted += decision.allowed() ? 1 : 0;
    bin->trips += is_known ? 0 : 1;
    if (decision.limited != 0 && decision.retry_after_ns != LIMITREE_NEVER) {
      denied_until_ns_ = at_ns + decision.retry_after_ns;
    }
  }

 private:
  Limiter limiter_;
  std::int64_t denied_until_ns_ = 0;
};

Course run_processes(const SimulateOptions& options,
                     const std::vector<Arrival>& traffic, bool leased) {
  const Folder folder;
  std::int64_t now_ns = kStartNs;
  Config config;
  config.set("store", "shm://" + folder.path() + "/limits?max_buckets=1000");
  config.set("leases", leased ? "always" : "off");
  config.set_clock(read_clock, &now_ns);
  const auto ns = [](std::int64_t span) { return std::to_string(span) + "ns"; };
  std::string limit = "count: " + std::to_string(options.count) +
                      ", period: " + ns(options.period_ns);
  if (leased) {
    limit += ", lease: {time: " + ns(options.lease_ns) +
             (options.ahead ? ", ahead: true}" : "}");
  }
  config.set_limits("schema: {a: {limits: {" + limit + "}}}",
                    "--count, --period, --lease");
  std::vector<std::unique_ptr<Process>> processes;
  for (std::int64_t i = 0; i < options.processes; ++i) {
    processes.push_back(std::make_unique<Process>(config));
  }
  Course course;
  for (const Arrival& one : traffic) {
    now_ns = kStartNs + one.at_ns;
    const auto bin =
        static_cast<std::size_t>(one.at_ns * kBinsInPeriod / options.period_ns);
    processes[one.process]->ask(one.at_ns, &course.bins[bin]);
  }
  return course;
}

std::string per_request(const Bin& bin) {
  char text[32];
  std::snprintf(
      text, sizeof text, "%.3f",
      static_cast<double>(bin.trips) /
          static_cast<double>(std::max<std::int64_t>(1, bin.offered)));
  return text;
}

struct Comparison {
  Course without;
  Course with;
};

void print_comparison(const SimulateOptions& options, const Comparison& both) {
  Table table;
  table.add_columns(Align::kLeft, {""});
  table.add_columns(Align::kRight, {"admitted", "round trips", "per request"});
  const auto row = [&](const std::string& name, const Bin& total) {
    table.add_row({{name},
                   {count_text(total.admitted)},
                   {count_text(total.trips)},
                   {per_request(total)}});
  };
  row("without leases", both.without.total());
  row("leases of " + duration_text(options.lease_ns), both.with.total());
  print(count_text(both.with.total().offered) + " requests to " +
        std::to_string(options.processes) + " processes, " +
        std::to_string(options.count) + " allowed per " +
        duration_text(options.period_ns) + "\n");
  print(table.text(Terminal::of(STDOUT_FILENO)));
}

// Two panels above each other: what is admitted, and how many round trips.
class LeasePicture {
 public:
  LeasePicture(const SimulateOptions& options, const Comparison& both)
      : options_(options),
        both_(both),
        svg_(kWidth, kTop + 2 * (kPanel + kGap),
             ".leased{stroke:#e08a1e;stroke-width:1.5;fill:none}\n") {}

  std::string draw() && {
    header();
    const double per_bin = static_cast<double>(options_.count) / kBinsInPeriod;
    const double most =
        per_bin * std::max(1.5, static_cast<double>(options_.load) / 100 * 1.2);
    panel(kTop, "admitted", both_.without.total().admitted,
          both_.with.total().admitted);
    bars(kTop, most);
    curve(kTop, most, "line", both_.without, admitted);
    curve(kTop, most, "leased", both_.with, admitted);
    const double limit = y(kTop, per_bin, most);
    svg_.line(kLeft, limit, kWidth - kRight, limit, "limit");
    const double low = kTop + kPanel + kGap;
    panel(low, "round trips", both_.without.total().trips,
          both_.with.total().trips);
    curve(low, 1.1, "line", both_.without, trips_per_request);
    curve(low, 1.1, "leased", both_.with, trips_per_request);
    svg_.write(kLeft - 28, y(low, 1, 1.1) + 4, "small", "1");
    svg_.write(8, low + 68, "small", "lines: per request");
    return std::move(svg_).finish();
  }

 private:
  static constexpr double kLeft = 150;
  static constexpr double kRight = 20;
  static constexpr double kWidth = 900;
  static constexpr double kTop = 92;
  static constexpr double kPanel = 130;
  static constexpr double kGap = 40;

  static double admitted(const Bin& bin) {
    return static_cast<double>(bin.admitted);
  }
  static double trips_per_request(const Bin& bin) {
    return bin.offered == 0 ? 0
                            : static_cast<double>(bin.trips) /
                                  static_cast<double>(bin.offered);
  }

  static double x(std::size_t bin) {
    return kLeft + (kWidth - kLeft - kRight) * static_cast<double>(bin) /
                       static_cast<double>(kAllBins);
  }
  static double y(double top, double value, double most) {
    return top + kPanel * (1 - std::min(1.0, value / most));
  }

  void header() {
    svg_.write(20, 28, "name",
               std::to_string(options_.count) + " requests per " +
                   duration_text(options_.period_ns) + ", shared by " +
                   std::to_string(options_.processes) +
                   " processes that are asked " +
                   std::to_string(options_.load) + " % of that");
    svg_.square(20, 44, 12, "offered");
    svg_.write(
        38, 54, "small",
        "offered per " + duration_text(options_.period_ns / kBinsInPeriod));
    svg_.line(170, 50, 194, 50, "line");
    svg_.write(200, 54, "small", "without leases");
    svg_.line(320, 50, 344, 50, "leased");
    svg_.write(350, 54, "small",
               "with leases of " + duration_text(options_.lease_ns));
    svg_.line(520, 50, 544, 50, "limit");
    svg_.write(550, 54, "small", "the limit");
  }

  void panel(double top, std::string_view name, std::int64_t without,
             std::int64_t with) {
    for (std::int64_t i = 0; i <= kLeasePeriods; ++i) {
      const double at = x(static_cast<std::size_t>(i * kBinsInPeriod));
      svg_.line(at, top, at, top + kPanel, "grid");
      svg_.write(at - 8, top + kPanel + 14, "small",
                 i == 0 ? "0" : duration_text(i * options_.period_ns));
    }
    svg_.line(kLeft, top + kPanel, kWidth - kRight, top + kPanel, "axis");
    svg_.write(8, top + 16, "name", name);
    svg_.write(8, top + 34, "small", count_text(without) + " without");
    svg_.write(8, top + 50, "small", count_text(with) + " with leases");
  }

  void bars(double top, double most) {
    std::string steps;
    for (std::size_t i = 0; i < kAllBins; ++i) {
      Svg::bar(x(i), x(i + 1) - 0.6,
               y(top, static_cast<double>(both_.with.bins[i].offered), most),
               top + kPanel, &steps);
    }
    svg_.path("offered", steps);
  }

  template <typename Value>
  void curve(double top, double most, std::string_view kind,
             const Course& course, Value value) {
    std::string steps;
    for (std::size_t i = 0; i < kAllBins; ++i) {
      Svg::point((x(i) + x(i + 1)) / 2, y(top, value(course.bins[i]), most),
                 &steps);
    }
    svg_.path(kind, steps);
  }

  const SimulateOptions& options_;
  const Comparison& both_;
  Svg svg_;
};

}  // namespace

int simulate_leases(const SimulateOptions& options) {
  constexpr std::int64_t kShortestNs = 1'000'000;
  if (options.lease_ns < kShortestNs ||
      options.lease_ns > options.period_ns / 2) {
    throw UsageError("--lease must be from 1ms to half of --period");
  }
  if (options.count < 2) throw UsageError("--lease needs a --count of 2");
  const std::vector<Arrival> traffic = arrivals(options);
  const Comparison both{run_processes(options, traffic, false),
                        run_processes(options, traffic, true)};
  if (options.svg.empty() ||
      keep_picture(LeasePicture(options, both).draw(), options.svg)) {
    print_comparison(options, both);
  }
  return kExitOk;
}

}  // namespace limitree::cli
