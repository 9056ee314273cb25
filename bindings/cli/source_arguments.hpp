// The arguments that name files of limits.

#ifndef LIMITREE_CLI_SOURCE_ARGUMENTS_HPP
#define LIMITREE_CLI_SOURCE_ARGUMENTS_HPP

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "command.hpp"

namespace limitree::cli {

// Adds a limits.yaml.
void add_limits(CLI::App* app, std::string* limits);

// Adds limits in one of `formats`, apart from limits.yaml.  If a path follows,
// its first word may be the second file: see take_overrides().
void add_source(CLI::App* app, const std::vector<std::string>& formats,
                LimitsSource* source);

// The same in every format.
void add_any_source(CLI::App* app, LimitsSource* source);

// Adds the files after the first.
void add_other_files(CLI::App* app, LimitsSource* source);

// Checks that there are as many files as the format has.  Throws UsageError.
void check_files(const CheckOptions& options);
void check_files(const ConvertOptions& options);

// Takes the second file, if the format has one, off the front of the words
// after the first.  Throws UsageError if what is left is no path.
void take_overrides(LimitsSource* source, std::vector<std::string>* words);

}  // namespace limitree::cli

#endif  // LIMITREE_CLI_SOURCE_ARGUMENTS_HPP
