// The parts of `limitree simulate`.

#pragma once

#include <string>

#include "command.hpp"

namespace limitree::cli {

// Writes the picture to the file `name`, or to standard output if that is "-":
// then returns false, because nothing else may follow.  Throws FileError.
bool keep_picture(const std::string& picture, const std::string& name);

// The same traffic with leases and without.  Returns the exit code.
int simulate_leases(const SimulateOptions& options);

}  // namespace limitree::cli
