// The options of `limitree serve`.

#ifndef LIMITREE_CLI_SERVE_ARGUMENTS_HPP
#define LIMITREE_CLI_SERVE_ARGUMENTS_HPP

#include <CLI/CLI.hpp>

#include "command.hpp"

namespace limitree::cli {

CLI::App* add_serve(CLI::App* app, ServeOptions* options);

}  // namespace limitree::cli

#endif  // LIMITREE_CLI_SERVE_ARGUMENTS_HPP
