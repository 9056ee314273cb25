// limits.yaml as it is written: every node checked, nothing inherited yet.

#ifndef LIMITREE_TREE_DRAFT_HPP
#define LIMITREE_TREE_DRAFT_HPP

#include <cstdint>
#include <string_view>
#include <vector>

#include "tree/pattern.hpp"
#include "tree/problems.hpp"

namespace limitree {

// One node.  Its limits are in Nodes::limits already, its place in
// Nodes::places; the name borrows from the document.
struct Draft {
  std::string_view name;
  PatternKind pattern = PatternKind::kExact;
  Mark mark;                // of the name
  Mark prefix_mark;         // of ipv6_prefix
  std::uint32_t place = 0;  // index in Nodes::places
  std::uint32_t first_limit = 0;
  std::uint32_t limit_count = 0;
  bool limits_stated = false;
  bool inherit = true;
  bool share = false;
  bool ip = false;               // key: ip
  std::uint8_t ipv6_prefix = 0;  // 0: not stated
  std::vector<Draft> children;   // in the order of the text
};

}  // namespace limitree

#endif  // LIMITREE_TREE_DRAFT_HPP
