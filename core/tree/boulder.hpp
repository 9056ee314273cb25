// The two files that Boulder, the software of an ACME certificate authority,
// keeps its rate limits in, as a limits.yaml that decides the same.

#ifndef LIMITREE_TREE_BOULDER_HPP
#define LIMITREE_TREE_BOULDER_HPP

#include <string>
#include <vector>

#include "base/status.hpp"
#include "tree/schema.hpp"

namespace limitree {

// Returns the text of such a limits.yaml, as docs/boulder.md describes it: a
// top-level name for each of Boulder's limits, below it the ids.
//
// kInvalidConfig with a message for each mistake in either file, as load_tree()
// has them.  *warnings, which may be null, takes such a message for everything
// in them that has no effect.
Result<std::string> limits_from_boulder(
    const LimitsText& defaults, const LimitsText& overrides,
    std::vector<std::string>* warnings = nullptr);

}  // namespace limitree

#endif  // LIMITREE_TREE_BOULDER_HPP
