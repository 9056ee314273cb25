// What stands after `rate_limit:` in a file of envoyproxy/ratelimit.

#pragma once

#include <cstddef>

#include "descriptors/field_reader.hpp"
#include "descriptors/rule.hpp"

namespace limitree {

// Reads the mapping `map`.  Without meaning if it has mistakes, which are
// reported.
Rule read_rule(std::size_t map, FieldReader* reader);

}  // namespace limitree
