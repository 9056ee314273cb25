// limits.yaml as it is written: every node checked, nothing inherited yet; and
// the children of a node with all that they inherit.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/limit.hpp"
#include "text/problems.hpp"
#include "tree/address.hpp"
#include "tree/key_kind.hpp"
#include "tree/nodes.hpp"
#include "tree/pattern.hpp"

namespace limitree {

// One node.  Its limits are in Nodes::limits already, its place in
// Nodes::places; the name borrows from the document.
struct Draft {
  std::string_view name;
  PatternKind pattern = PatternKind::kExact;
  Mark mark;                // of the name
  Mark key_mark;            // of `key`
  Mark prefix_mark;         // of ipv6_prefix
  Mark overrides_mark;      // of what follows `overrides`
  std::uint32_t place = 0;  // index in Nodes::places
  LimitRange limits;
  bool limits_stated = false;
  bool inherit = true;
  bool share = false;
  Charge charge = Charge::kAllOrNothing;  // of the top-level name
  std::optional<Key> key;                 // nothing: not stated
  std::uint8_t ipv6_prefix = 0;           // 0: not stated
  std::string_view overrides;             // name of a file; empty: none
  std::vector<Draft> children;            // in the order of the text
};

// A top-level name, and the nodes that it is compiled into.
struct RootDraft {
  Draft draft;
  std::shared_ptr<Nodes> nodes;
  std::size_t text;  // the number of the text it is in
};

// The content of one file that `overrides:` names.
struct LoadedOverrides {
  const Draft* draft;              // the node that names it
  Key key;                         // with which the ids were read
  std::uint32_t index;             // in Nodes::overrides
  std::vector<LimitRange> limits;  // by the number of an id
};

// The child "*" of `draft`; null if it has none.
inline const Draft* any_child(const Draft& draft) {
  for (const Draft& child : draft.children) {
    if (child.pattern == PatternKind::kAny) return &child;
  }
  return nullptr;
}

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

// The limits of the node that `merged` becomes.
LimitRange limits_of(const Merged& merged);

// Checks children of a node with "key: tier", and those in the files that it
// names: each has limits for one bucket.  If tiers had different times to fill,
// a tier with a shorter one would cancel the debt beyond that, and a caller
// that changes tiers would get more than either tier allows.
void check_tiers(const MergedList& tiers,
                 std::span<const LoadedOverrides* const> files,
                 const Nodes& nodes, Problems* problems);

}  // namespace limitree
