// The command line.

#ifndef LIMITREE_CLI_ARGUMENTS_HPP
#define LIMITREE_CLI_ARGUMENTS_HPP

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"

namespace CLI {  // NOLINT: the library is called so
class App;
}

namespace limitree::cli {

// A program that is started by this name replaces envoyproxy/ratelimit.
inline constexpr std::string_view kOriginal = "ratelimit";

// The words of `limitree serve` for a program that was started as kOriginal:
// the options in `words` that serve has.  Warns of the others.
std::vector<std::string> words_of_original(
    const std::vector<std::string>& words);

// Adds `serve`, with the options that it has in this build.
CLI::App* add_serve(CLI::App* app);

// Returns the command in `words`, which lack the program's name; nothing if it
// was help or the version, which is then printed.  Throws UsageError.
std::optional<Command> parse_arguments(std::vector<std::string> words);

}  // namespace limitree::cli

#endif  // LIMITREE_CLI_ARGUMENTS_HPP
