// The largest number of limits that one path of a tree can meet.

#ifndef LIMITREE_TREE_PATH_LEVELS_HPP
#define LIMITREE_TREE_PATH_LEVELS_HPP

#include "text/problems.hpp"
#include "tree/draft.hpp"

namespace limitree {

// Reports the deepest nodes at which a path has more than kMaxLevels limits.
// REQUIRES: *problems is empty, and compile() has run on `root`.
void refuse_long_paths(const RootDraft& root, Problems* problems);

}  // namespace limitree

#endif  // LIMITREE_TREE_PATH_LEVELS_HPP
