// The children of one node, laid out so that a walk finds them.

#ifndef LIMITREE_TREE_ARRANGE_HPP
#define LIMITREE_TREE_ARRANGE_HPP

#include <vector>

#include "tree/address.hpp"
#include "tree/nodes.hpp"

namespace limitree {

// Each function adds children of one kind to *nodes, and notes in *children
// where they are.

void store_exact(const std::vector<Child>& exact, Nodes* nodes,
                 Children* children);

// `addresses` are the addresses of `networks`.
void store_networks(const std::vector<Child>& networks,
                    const std::vector<Network>& addresses, Nodes* nodes,
                    Children* children);

void store_globs(std::vector<Child> globs, Nodes* nodes, Children* children);

}  // namespace limitree

#endif  // LIMITREE_TREE_ARRANGE_HPP
