// The options of `limitree simulate`.

#ifndef LIMITREE_CLI_SIMULATE_ARGUMENTS_HPP
#define LIMITREE_CLI_SIMULATE_ARGUMENTS_HPP

#include <CLI/CLI.hpp>

#include "command.hpp"

namespace limitree::cli {

CLI::App* add_simulate(CLI::App* app, SimulateOptions* options);

}  // namespace limitree::cli

#endif  // LIMITREE_CLI_SIMULATE_ARGUMENTS_HPP
