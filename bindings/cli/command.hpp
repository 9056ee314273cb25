// The commands of `limitree`, and the options of each.
//
// arguments.cpp fills the options in, main.cpp chooses the function.  Each
// run() returns an exit code, and throws if it cannot continue.

#ifndef LIMITREE_CLI_COMMAND_HPP
#define LIMITREE_CLI_COMMAND_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "remote.hpp"

namespace limitree::cli {

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
  std::int64_t cost = 1;
  std::int64_t every_ns = 0;  // between two attempts
  std::int64_t after_ns = 0;  // before the first one
};

struct TryOptions {
  LimitsSource source;
  std::vector<TryStep> steps;
  Remote remote;  // no store: in memory, with a clock that the steps move
};

struct ReplayOptions {
  std::string limits;
  std::vector<std::string> logs;       // "-": standard input; never empty
  std::vector<std::string> templates;  // for path_template.hpp
  std::size_t top = 10;                // limits and callers to show
  std::optional<std::int64_t> max_buckets;
  bool json = false;
};

// Sends the same traffic to each algorithm.
struct SimulateOptions {
  std::string algorithms = "all";  // or one of them
  std::int64_t count = 100;
  std::int64_t period_ns = 10'000'000'000;
  std::string svg;  // a file for the picture, "-": standard output
};

struct PingOptions {
  Remote remote;
};

// The path of the buckets, and their store.
struct CallerOptions {
  std::string limits;
  std::vector<std::string> path;
  Remote remote;
};

struct ShowOptions : CallerOptions {};

struct ResetOptions : CallerOptions {
  bool leaf = false;  // only those of the deepest node
};

// Where descriptors come from, for `serve`.
struct DescriptorOptions {
  std::vector<std::string> places;  // files and folders
  bool merge_domains = false;
  bool dot_files = false;
  bool start_without = false;
  bool healthy_with = false;
};

// A server of configurations, for `serve`.
struct XdsOptions {
  std::string server;
  std::string node_id;
  std::vector<std::string> node_metadata;  // NAME=VALUE
  std::vector<std::string> headers;        // NAME:VALUE
  bool tls = false;
  std::string ca;
  std::string cert;
  std::string key;
  std::string server_name;
};

// None of any kind: those of the environment, or the default ones.
struct AddressOptions {
  std::vector<std::string> grpc;
  std::vector<std::string> http;
  std::vector<std::string> https;
  std::vector<std::string> admin;
  std::vector<std::string> metrics;
  std::vector<std::string> http_hosts;
  bool share_ports = false;
  bool plain_http = false;
};

// What is missing is as the environment says, or has the server's default.
struct ServeOptions {
  std::string settings_file;
  bool ignore_environment = false;
  std::string limits;
  DescriptorOptions descriptors;
  XdsOptions xds;
  bool answer_headers = false;
  bool dynamic_metadata = false;
  AddressOptions addresses;
  std::string header_style;
  std::optional<std::size_t> workers;
  Remote remote;
  bool check_store = false;
  std::string tls_cert;
  std::string tls_key;
  std::string tls_client_ca;
  std::vector<std::string> tls_client_names;
  std::string admin_token_file;
  std::optional<std::uint32_t> max_streams;
  std::optional<std::size_t> max_message_bytes;
  std::optional<std::size_t> max_connections;
  std::optional<std::size_t> max_buffered_bytes;
  std::optional<std::int64_t> keepalive_time_ns;
  std::optional<std::int64_t> keepalive_timeout_ns;
  std::optional<std::int64_t> max_idle_ns;
  std::optional<std::int64_t> max_age_ns;
  std::optional<std::int64_t> max_age_grace_ns;
  std::optional<std::int64_t> drain_delay_ns;
  std::optional<std::int64_t> drain_grace_ns;
  std::string log_level;
  std::string log_format;
  std::string statsd;  // a URL
  std::optional<std::int64_t> stats_interval_ns;
  std::string stats_tags;
  std::string otlp;  // a URL
  std::optional<double> sampling_rate;
};

using Command =
    std::variant<CheckOptions, ConvertOptions, ExplainOptions, TryOptions,
                 ReplayOptions, SimulateOptions, PingOptions, ShowOptions,
                 ResetOptions, ServeOptions>;

int run(const CheckOptions& options);
int run(const ConvertOptions& options);
int run(const ExplainOptions& options);
int run(const TryOptions& options);
int run(const ReplayOptions& options);
int run(const SimulateOptions& options);
int run(const PingOptions& options);
int run(const ShowOptions& options);
int run(const ResetOptions& options);
int run(const ServeOptions& options);

}  // namespace limitree::cli

#endif  // LIMITREE_CLI_COMMAND_HPP
