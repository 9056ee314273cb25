// limits.yaml: text in, Tree out.

#ifndef LIMITREE_TREE_SCHEMA_HPP
#define LIMITREE_TREE_SCHEMA_HPP

#include <string_view>

#include "base/status.hpp"
#include "tree/tree.hpp"

namespace limitree {

// Reads a limits.yaml, as docs/limits-yaml.md describes it.
//
// kInvalidConfig with one message for each mistake, all of them, in the order
// of the text: "<origin>:<line>:<column>: <what is wrong>".
Result<Tree> load_tree(std::string_view yaml, std::string_view origin);

}  // namespace limitree

#endif  // LIMITREE_TREE_SCHEMA_HPP
