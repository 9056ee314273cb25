// The limit tree, ready to walk: the result of reading limits.yaml
// (schema.hpp).
//
// Immutable, so any number of threads may walk it.  It knows which limits are
// on a path, but nothing about the content of buckets or about time.

#pragma once

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

// The path of a request, from the root: {"user", "alex", "trade"}.
using Path = std::span<const std::string_view>;

struct Nodes;  // tree/nodes.hpp
struct Roots;

class Tree {
 public:
  // A tree without top-level names: every path is kUnknownRoot.
  Tree();

  // From load_tree(): one top-level name each.
  explicit Tree(std::vector<std::shared_ptr<Nodes>> roots);

  Tree(Tree&&) noexcept;
  Tree& operator=(Tree&&) noexcept;
  ~Tree();

  // Whether `name` is a top-level name, and whether with() has added it.
  bool has(std::string_view name) const;
  bool has_added(std::string_view name) const;

  // What load_root() was called with.
  static std::string_view name_of(const Nodes& root);

  // This tree with one more top-level name, from load_root(), which replaces
  // the name if the tree has it already.  The others are shared, not copied.
  Tree with(std::shared_ptr<Nodes> root) const;

  // This tree without a name that with() has added.  REQUIRES: has_added(name).
  Tree without(std::string_view name) const;

  // This tree and the names that with() has added to `old` or to those before
  // it, but not those that with() has replaced.  kInvalidConfig if this tree
  // has one of the added names itself.
  Result<Tree> with_added_of(const Tree& old) const;

  // The limits of each top-level name.  Each limit of a tree has an index of
  // its own, less than index_end().
  std::vector<std::span<const Limit>> limits() const;
  std::span<const Limit> limits_of(std::string_view name) const;
  std::size_t limit_count() const;
  std::uint32_t index_end() const;

  // About what the names that with() has added take in memory.
  std::size_t added_bytes() const;

  // Appends to *plan the segments of `path` that the tree knows, and a level
  // for every limit on the way down.  The walk ends at a segment without a
  // matching child.
  //
  // kUnknownRoot if the first segment is not a top-level name. kInvalidArgument
  // if the path is empty, if a segment does not have the `key` of its node, or
  // if the path ends at a node that has children but states no limits, not even
  // `[]`, and has met no limit.  *plan is then unchanged.
  // REQUIRES: cost >= 0; path and tree outlive *plan.
  Status match(Path path, std::int64_t cost, Plan* plan) const;

  // The same, inline: tree/walk.hpp.
  Status walk(Path path, std::int64_t cost, Plan* plan) const;

  // The whole tree as text for people, one line per node and limit.
  std::string describe() const;

  // The walk down `path` as text for people: the child taken for each segment
  // and why, the levels met, their bucket names and parameters.  Fails as
  // match() does.
  Result<std::string> explain(Path path) const;

 private:
  explicit Tree(std::unique_ptr<const Roots> roots);

  std::unique_ptr<const Roots> roots_;
};

}  // namespace limitree
