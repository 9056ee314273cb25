// Compiles nodes as written to a tree that can be walked: inheritance is worked
// out here, once, and equal results are shared.

#pragma once

#include <cstddef>
#include <span>

#include "text/problems.hpp"
#include "tree/draft.hpp"
#include "tree/overrides.hpp"

namespace limitree {

// A small file can stand for a large tree, as each override holds all that it
// inherits.  A tree with more nodes than this, or than TextBounds say, is
// refused if `written` nodes were read.
constexpr std::size_t max_nodes(std::size_t written) {
  return 10'000 + 250 * written;
}
// The most nodes as written that one node is made of, on average.
inline constexpr std::size_t kMaxLayers = 8;

// Adds to the nodes of each of `roots`, which hold limits and places already,
// all that a walk needs.  Rules that depend on what a node inherits are checked
// here, and `files` of overrides are read: mistakes go to *problems, and the
// nodes must then not be used.
void compile(std::span<const RootDraft> roots, const OverrideFiles& files,
             std::size_t most_nodes, Problems* problems);

}  // namespace limitree
