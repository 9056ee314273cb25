// What stands after `rate_limit:` in a file of envoyproxy/ratelimit.

#ifndef LIMITREE_DESCRIPTORS_RULE_READER_HPP
#define LIMITREE_DESCRIPTORS_RULE_READER_HPP

#include <cstddef>

#include "descriptors/field_reader.hpp"
#include "descriptors/rule.hpp"

namespace limitree {

// Reads the mapping `map`.  Without meaning if it has mistakes, which are
// reported.
Rule read_rule(std::size_t map, FieldReader* reader);

}  // namespace limitree

#endif  // LIMITREE_DESCRIPTORS_RULE_READER_HPP
