// The command line.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {  // NOLINT: the name of the library
class App;
}

namespace limitree::cli {

// A program that is started under this name replaces envoyproxy/ratelimit.
inline constexpr std::string_view kOriginal = "ratelimit";

// The words of `limitree serve` for a program that was started as kOriginal:
// the options in `words` that serve has.  Warns of the others.  Sets variables
// of the environment that are missing.
std::vector<std::string> words_of_original(
    const std::vector<std::string>& words);

// Adds `serve`, with the options that it has in this build.  It runs once
// the words are parsed, and throws if it cannot serve.
void add_serve(CLI::App* app);

// Runs the command in `words`, which do not include the program's name, and
// returns its exit code.  Prints help or the version if they ask for it.
// Throws UsageError, and what the command throws.
int run_command_line(std::vector<std::string> words);

}  // namespace limitree::cli
