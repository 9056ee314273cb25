// limits.yaml: text in, Tree out.

#ifndef LIMITREE_TREE_SCHEMA_HPP
#define LIMITREE_TREE_SCHEMA_HPP

#include <span>
#include <string_view>

#include "base/status.hpp"
#include "tree/tree.hpp"

namespace limitree {

// Reads a limits.yaml, as docs/limits-yaml.md describes it.
//
// kInvalidConfig with one message for each mistake, all of them, in the order
// of the text: "<origin>:<line>:<column>: <what is wrong>".
Result<Tree> load_tree(std::string_view yaml, std::string_view origin);

// One of the texts that a tree comes from; `origin` names it in messages.
struct LimitsText {
  std::string_view yaml;
  std::string_view origin;
};

// The same for a tree whose top-level names are in several texts.  Each name is
// in one of them.
Result<Tree> load_tree(std::span<const LimitsText> texts);

}  // namespace limitree

#endif  // LIMITREE_TREE_SCHEMA_HPP
