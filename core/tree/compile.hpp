// From nodes as written to a tree that can be walked: what is inherited is
// worked out here, once, and shared wherever it is the same.

#ifndef LIMITREE_TREE_COMPILE_HPP
#define LIMITREE_TREE_COMPILE_HPP

#include <cstddef>
#include <span>

#include "text/problems.hpp"
#include "tree/draft.hpp"
#include "tree/override_files.hpp"

namespace limitree {

// A small file can stand for a large tree, as each override holds all that it
// inherits; beyond this it is refused.
inline constexpr std::size_t kMaxNodes = 4'000'000;

// Adds to the nodes of each of `roots`, which hold limits and places already,
// all that a walk needs.  Rules that depend on what a node inherits are checked
// here, and `files` of overrides are read: mistakes go to *problems, and the
// nodes are then not to be used.
void compile(std::span<const RootDraft> roots, const OverrideFiles& files,
             Problems* problems);

}  // namespace limitree

#endif  // LIMITREE_TREE_COMPILE_HPP
