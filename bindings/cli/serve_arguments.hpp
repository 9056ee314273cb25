// The options of `limitree serve`.

#ifndef LIMITREE_CLI_SERVE_ARGUMENTS_HPP
#define LIMITREE_CLI_SERVE_ARGUMENTS_HPP

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "command.hpp"

namespace limitree::cli {

CLI::App* add_serve(CLI::App* app, ServeOptions* options);

// Adds what the settings file says to `options`, which come from `words`, the
// words after "serve".  Throws UsageError and FileError.
ServeOptions with_settings_file(const ServeOptions& options,
                                const std::vector<std::string>& words);

}  // namespace limitree::cli

#endif  // LIMITREE_CLI_SERVE_ARGUMENTS_HPP
