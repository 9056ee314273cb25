// Options and arguments that several commands have.

#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "command.hpp"

namespace limitree::cli {

// The number in `text`, a value of the option `name`.
std::int64_t count_of(const std::string& name, const std::string& text,
                      std::int64_t least, std::int64_t most);

// Adds the option `name`, which sets *count to a number from `least` to `most`.
template <typename Count>
void add_count(CLI::App* app, const std::string& name, std::int64_t least,
               std::int64_t most, Count* count, const std::string& help) {
  const auto set = [=](const std::string& text) {
    *count = static_cast<Count>(count_of(name, text, least, most));
  };
  app->add_option_function<std::string>(name, set, help)->type_name("N");
}

// Adds the option `name`, a file or "-", which must not be empty: a script
// whose variable is not set would do less than it says.
void add_file(CLI::App* app, const std::string& name, std::string* file,
              const std::string& help);

// Adds the option `name`, which sets *duration_ns.  It takes what
// limitree_parse_duration takes, up to 100 years.
void add_duration(CLI::App* app, const std::string& name,
                  std::int64_t* duration_ns, const std::string& help);

// Adds the option `name`, which may come several times.
void add_durations(CLI::App* app, const std::string& name,
                   std::vector<std::int64_t>* durations_ns,
                   const std::string& help);

// Adds the option `name`, which sets *share to a share such as 0.1%, in
// parts of kWholeShare.
void add_share(CLI::App* app, const std::string& name, std::int64_t* share,
               const std::string& help);

// Adds --cost, which may come once for each unit.
void add_cost(CLI::App* app, TryStep* step);

// Adds the segments of a path.
void add_path(CLI::App* app, std::vector<std::string>* path);

// Adds --store and --set.
void add_remote(CLI::App* app, const std::string& store_help, Remote* remote);

// What the help of commands with access logs says of them.
inline constexpr const char* kLogHelp =
    "Logs are plain or gzip; without any, standard input is read.  Formats:\n"
    "combined (and common), json, envoy, caddy, alb, or a log_format of nginx "
    "such\nas '$remote_addr [$time_local] \"$request\"'.  --field says where "
    "json has a\nfield: remote_addr=client.ip, time=ts, or one with a new "
    "name.\n\n"
    "A template is a path with a comma between its segments.  In braces, "
    "fields of\nthe line: remote_addr, remote_user, method, path, query, "
    "target, protocol,\nstatus, bytes, referer, user_agent, or one of the "
    "format.  A backslash takes the\ncomma, brace or backslash after it "
    "literally.\n\n";

// Adds access logs, and options that say how to read them.
void add_logs(CLI::App* app, LogOptions* log);

// Adds --path, which has to come at least once.
void add_templates(CLI::App* app, const std::string& help,
                   std::vector<std::string>* templates);

// Adds a limits.yaml.
void add_limits(CLI::App* app, std::string* limits);

// Adds limits in one of `formats`, apart from limits.yaml.  If a path follows,
// its first word may be the second file: see take_overrides().
void add_source(CLI::App* app, const std::vector<std::string>& formats,
                LimitsSource* source);

// Adds the files after the first.
void add_other_files(CLI::App* app, LimitsSource* source);

// Checks that there are as many files as the format has.  Throws UsageError.
void check_files(const CheckOptions& options);
void check_files(const ConvertOptions& options);

// Takes the second file, if the format has one, off the front of the words
// after the first.  Throws UsageError if the remaining words are not a path.
void take_overrides(LimitsSource* source, std::vector<std::string>* words);

// Throws UsageError unless there are a domain and a descriptor, if the limits
// are envoy's.
void check_caller(const CallerOptions& options);

}  // namespace limitree::cli
