// The limit tree, ready to walk: limits.yaml after schema.hpp has read it.
//
// Immutable once made, so any number of threads may walk it.  It knows which
// limits lie on a path, and nothing of buckets' contents or time.

#ifndef LIMITREE_TREE_TREE_HPP
#define LIMITREE_TREE_TREE_HPP

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/limit.hpp"
#include "base/plan.hpp"
#include "base/status.hpp"

namespace limitree {

// Who asks for what, from the root: {"user", "alex", "trade"}.
using Path = std::span<const std::string_view>;

struct Nodes;  // tree/nodes.hpp

class Tree {
 public:
  // A tree without any top-level name; every path is kUnknownRoot.
  Tree();

  // As compile.hpp makes them.
  explicit Tree(std::unique_ptr<const Nodes> nodes);

  Tree(Tree&&) noexcept;
  Tree& operator=(Tree&&) noexcept;
  ~Tree();

  // Every limit of the tree; limits()[i].index == i.
  const std::vector<Limit>& limits() const;

  // Appends to *plan the segments of `path` that the tree knows, and a level
  // for every limit met on the way down.  A segment without a matching child
  // ends the walk.
  //
  // kUnknownRoot if the first segment is no top-level name; kInvalidArgument
  // if the path is empty, if a segment is not what the `key` of its node says,
  // or if the path is used up at a node that has children but states no limits,
  // not even `[]`, and has met none.
  // *plan is then left as it was.
  // REQUIRES: cost >= 0; path and tree outlive *plan.
  Status match(Path path, std::int64_t cost, Plan* plan) const;

  // The whole tree as text for people, one line a node and limit.
  std::string describe() const;

  // How `path` walks down, as text for people: the child taken for each
  // segment and why, the levels met, their bucket names and parameters.
  // Fails as match() does.
  Result<std::string> explain(Path path) const;

 private:
  std::unique_ptr<const Nodes> nodes_;
};

}  // namespace limitree

#endif  // LIMITREE_TREE_TREE_HPP
