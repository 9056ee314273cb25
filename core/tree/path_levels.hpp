// The largest number of limits that one path of a tree can meet.

#ifndef LIMITREE_TREE_PATH_LEVELS_HPP
#define LIMITREE_TREE_PATH_LEVELS_HPP

#include <span>
#include <vector>

#include "tree/draft.hpp"
#include "tree/nodes.hpp"
#include "tree/problems.hpp"

namespace limitree {

// Reports the deepest nodes at which a path has more than kMaxLevels limits.
// REQUIRES: *problems is empty, and compile() has made `nodes` of `texts`.
void refuse_long_paths(std::span<const std::vector<Draft>> texts,
                       const Nodes& nodes, Problems* problems);

}  // namespace limitree

#endif  // LIMITREE_TREE_PATH_LEVELS_HPP
