// What stands after `rate_limit:`.

#ifndef LIMITREE_DESCRIPTORS_READ_RULE_HPP
#define LIMITREE_DESCRIPTORS_READ_RULE_HPP

#include <cstddef>

#include "descriptors/field_reader.hpp"
#include "descriptors/rule.hpp"

namespace limitree {

// The rule in the mapping `map`.  If there are mistakes, which are reported, it
// is not complete.
Rule read_rule(std::size_t map, FieldReader* reader);

}  // namespace limitree

#endif  // LIMITREE_DESCRIPTORS_READ_RULE_HPP
