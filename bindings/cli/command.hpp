// The commands of `limitree`, and the options of each.
//
// arguments.cpp fills the options in.  Each run() returns an exit code, and
// throws if it cannot continue.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "format.hpp"
#include "remote.hpp"

namespace limitree::cli {

inline constexpr std::int64_t kSecondNs = 1'000'000'000;

// How many levels of a decision are shown.
inline constexpr std::size_t kMaxLevels = 64;

// The start of a clock that follows the steps of a command.  Any time would do;
// windows of every common length begin at this one.
inline constexpr std::int64_t kStartNs =
    1'767'571'200'000'000'000;  // a Monday, UTC

// For Config::set_clock: `now_ns` is a std::int64_t, in Unix nanoseconds.
inline std::int64_t read_clock(void* now_ns) {
  return *static_cast<const std::int64_t*>(now_ns);
}

// Documented in docs/command-line.md.
enum ExitCode : int {
  kExitOk = 0,
  kExitBadInput = 1,  // a file, its limits, a path, the store
  kExitUsage = 2,     // the command line itself
};

// In other structs "limits" is the name of a limits.yaml, or "-".
struct LimitsSource {
  std::string limits;
  std::string format;  // "boulder", "envoy", or empty for a limits.yaml
  std::vector<std::string> others;  // files after the first, as the format has
  bool merge_domains = false;       // of envoy

  bool is_envoy() const { return format == "envoy"; }
};

struct CheckOptions {
  LimitsSource source;
  bool quiet = false;
  bool yaml = false;  // print the limits as a limits.yaml
};

struct ConvertOptions {
  LimitsSource source;
};

struct ExplainOptions {
  LimitsSource source;
  std::vector<std::string> path;  // of envoy: a domain, and entries
};

// The same action, several times in a row.
struct TryStep {
  std::vector<std::string> path;
  std::int64_t times = 1;
  std::map<std::string, std::int64_t> costs = {{kRequestUnit, 1}};  // by unit
  std::int64_t every_ns = 0;  // between two attempts
  std::int64_t after_ns = 0;  // before the first one
  bool reserves = false;      // instead of authorizing
  std::int64_t hold_ns = 0;   // of a reservation; 0: as limits say
};

struct TryOptions {
  LimitsSource source;
  std::vector<TryStep> steps;
  Remote remote;  // no store: in memory, with a clock that the steps move
};

// Access logs.
struct LogOptions {
  std::vector<std::string> logs;  // "-": standard input; never empty
  std::string format = "combined";
  std::vector<std::string> keys;  // of JSON: "remote_addr=client.ip"
};

struct ReplayOptions {
  std::string limits;
  LogOptions log;
  std::vector<std::string> templates;  // for path_template.hpp
  std::size_t top = 10;                // limits and callers to show
  std::optional<std::int64_t> max_buckets;
  std::string html;     // a file for the report, "-": standard output
  std::string compare;  // another limits.yaml
  std::optional<std::int64_t> max_flips;
  bool json = false;
};

struct SuggestOptions {
  LogOptions log;
  std::vector<std::string> templates;    // as of ReplayOptions
  std::vector<std::int64_t> periods_ns;  // none: 1 s, 1 m, 1 h and 1 d
  std::int64_t limited_share = 100'000;  // of the callers, in kWholeShare parts
  std::size_t max_callers = 1'000'000;   // to keep, of each template
  std::size_t top = 10;                  // callers to show
  bool json = false;
  std::string svg;  // a file for the picture, "-": standard output
};

inline constexpr std::int64_t kWholeShare = 100'000'000;  // 100 %

// Sends the same traffic to each algorithm.
struct SimulateOptions {
  std::string algorithms = "all";  // or one of them
  std::int64_t count = 100;
  std::int64_t period_ns = 10'000'000'000;
  std::string svg;  // a file for the picture, "-": standard output

  // Shows what leases of that time save, instead of algorithms; -1: does not.
  std::int64_t lease_ns = -1;
  bool ahead = false;
  std::int64_t processes = 8;
  std::int64_t load = 90;  // percent of the limit
};

struct PingOptions {
  Remote remote;
};

// The path of the buckets, and their store.
struct CallerOptions {
  LimitsSource source;            // a limits.yaml, or envoy
  std::vector<std::string> path;  // of envoy: a domain, and descriptors
  Remote remote;
};

struct ShowOptions : CallerOptions {};

struct ResetOptions : CallerOptions {
  bool leaf = false;  // only those of the deepest node
};

// Of a store, for which limits.yaml is needed, or of a service, or of both.
struct TopOptions {
  std::string limits;
  Remote remote;
  std::string server;  // the URL of an admin port
  std::size_t top = 20;
  std::int64_t every_ns = 2 * kSecondNs;
  bool once = false;
  bool json = false;
};

// Each is in the file of its command.
int run(const CheckOptions& options);
int run(const ConvertOptions& options);
int run(const ExplainOptions& options);
int run(const TryOptions& options);
int run(const ReplayOptions& options);
int run(const SuggestOptions& options);
int run(const SimulateOptions& options);
int simulate_leases(const SimulateOptions& options);  // a part of it
int run(const PingOptions& options);
int run(const ShowOptions& options);
int run(const ResetOptions& options);
int run(const TopOptions& options);

}  // namespace limitree::cli
