// limits.yaml as it is written: every node checked, nothing inherited yet.

#ifndef LIMITREE_TREE_DRAFT_HPP
#define LIMITREE_TREE_DRAFT_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/limit.hpp"
#include "text/problems.hpp"
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

// The child "*" of `draft`; null if it has none.
inline const Draft* any_child(const Draft& draft) {
  for (const Draft& child : draft.children) {
    if (child.pattern == PatternKind::kAny) return &child;
  }
  return nullptr;
}

}  // namespace limitree

#endif  // LIMITREE_TREE_DRAFT_HPP
