// The command line.

#ifndef LIMITREE_CLI_ARGUMENTS_HPP
#define LIMITREE_CLI_ARGUMENTS_HPP

#include <optional>
#include <string>
#include <vector>

#include "command.hpp"

namespace limitree::cli {

// Returns the command in `words`, which lack the program's name; nothing if it
// was help or the version, which is then printed.  Throws UsageError.
std::optional<Command> parse_arguments(std::vector<std::string> words);

}  // namespace limitree::cli

#endif  // LIMITREE_CLI_ARGUMENTS_HPP
