// Reads the files of limits that the command line names.

#pragma once

#include <string>

#include "command.hpp"
#include "limitree.hpp"

namespace limitree::cli {

// The text of the file `name`, or of standard input if it is "-".  Throws
// FileError.
std::string read_all(const std::string& name);

// The name of that file in messages.
std::string shown_name(const std::string& name);

// Reads the limits in the file `name`, or in standard input if it is "-", into
// *config.  Throws FileError, or Error if the limits have mistakes.
void read_limits(const std::string& name, Config* config);

// The same for limits in any form but envoy's.  Returns their text as a
// limits.yaml, and writes warnings about them to standard error.
std::string read_limits(const LimitsSource& source, Config* config);

// Reads all files of envoyproxy/ratelimit that `source` names, and those in its
// folders, into *config.  Throws FileError, or Error if there are mistakes.
void read_descriptors(const LimitsSource& source, Config* config);

}  // namespace limitree::cli
