// Options that are durations.

#ifndef LIMITREE_CLI_DURATION_OPTION_HPP
#define LIMITREE_CLI_DURATION_OPTION_HPP

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace limitree::cli {

// Adds the option `name`, which sets *duration_ns.  It takes what
// limitree_parse_duration takes, up to 100 years.
void add_duration(CLI::App* app, const std::string& name,
                  std::int64_t* duration_ns, const std::string& help);

}  // namespace limitree::cli

#endif  // LIMITREE_CLI_DURATION_OPTION_HPP
