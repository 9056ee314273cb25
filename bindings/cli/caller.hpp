// `limitree show` and `reset` of a descriptor of Envoy.

#pragma once

#include <string>

#include "command.hpp"
#include "limitree.hpp"
#include "terminal.hpp"

namespace limitree::cli {

// What is left in the buckets that a request with these descriptors reaches:
// `path` is its domain, and the entries of each.  Changes nothing.
std::string descriptors_left(const Limiter& limiter,
                             const std::vector<std::string>& path,
                             const Terminal& terminal);

// Forgets these buckets.
void reset_descriptors(const Limiter& limiter,
                       const std::vector<std::string>& path);

}  // namespace limitree::cli
