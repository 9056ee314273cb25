// The children of a node with all that they inherit: between what is written,
// draft.hpp, and the nodes that it is compiled into.

#ifndef LIMITREE_TREE_MERGED_HPP
#define LIMITREE_TREE_MERGED_HPP

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/problems.hpp"
#include "tree/address.hpp"
#include "tree/draft.hpp"
#include "tree/nodes.hpp"

namespace limitree {

// The nodes as written that make up one node of the tree: an earlier one takes
// precedence over a later one.
using Layers = std::vector<const Draft*>;

struct LayersHash {
  std::size_t operator()(const Layers& layers) const {
    std::size_t hash = layers.size();
    for (const Draft* layer : layers) {
      hash = (hash ^ std::hash<const Draft*>()(layer)) * 0x9e3779b97f4a7c15;
      hash ^= hash >> 29;
    }
    return hash;
  }
};

// One child of a node: the children of that name in all its layers.
struct Merged {
  std::string_view name;  // canonical; borrows from `text` or a draft
  std::string text;
  PatternKind pattern = PatternKind::kExact;
  Network network;  // if it is one
  Layers layers;
  std::size_t own = 0;                        // layers before those of "*"
  std::optional<LimitRange> override_limits;  // that a file has for its name
  const Draft* parent = nullptr;  // that the last of the layers is a child of
  bool inherits = true;

  const Draft& first() const { return *layers.front(); }
};

using MergedList = std::deque<Merged>;  // they do not move

// The limits of the node that it becomes.
LimitRange limits_of(const Merged& merged);

// Checks children of a node with "key: tier": each has limits for one bucket.
// If another tier has a shorter time to fill, it takes what is owed beyond that
// off the bucket, so that who changes between them has more than either.
void check_tiers(const MergedList& tiers, const Nodes& nodes,
                 Problems* problems);

}  // namespace limitree

#endif  // LIMITREE_TREE_MERGED_HPP
