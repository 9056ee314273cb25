// Tree::describe(): the whole tree as text for people.

#include <string>
#include <utility>
#include <vector>

#include "text/problems.hpp"
#include "text/text_table.hpp"
#include "tree/nodes.hpp"
#include "tree/tree.hpp"

namespace limitree {

namespace {

// How many inherited children of a node are shown: all of them would repeat the
// same lines for every override.
constexpr std::size_t kMaxInherited = 4;

std::string shown(std::string_view name) {
  return name.empty() ? "\"\"" : printable(name);
}

class Description {
 public:
  Description(const Nodes& nodes, TextTable* table)
      : nodes_(nodes), table_(*table) {}

  void add() { add_node(nodes_.root(), 0); }

 private:
  void add_node(const Child& child, std::size_t indent);
  void add_children(const Node& node, std::size_t indent);
  std::string remarks(const Child& child) const;
  std::vector<const Child*> in_order(const Children& children) const;

  const Nodes& nodes_;  // of one top-level name
  TextTable& table_;
};

// The text after the name of a node, without limits that get their own lines.
std::string Description::remarks(const Child& child) const {
  std::string remarks;
  const auto add = [&remarks](const std::string& remark) {
    if (!remarks.empty()) remarks += "; ";
    remarks += remark;
  };
  const Node& node = child.node;
  if (node.limit_count > 0) {
    const Limit& first = nodes_.limits[node.first_limit];
    const std::string_view suffix = first.name_suffix();
    const std::string here = nodes_.path(node.place).append(suffix);
    if (first.policy.view() != here) {
      const std::size_t size = first.policy.view().size() - suffix.size();
      add("limits as " + first.policy.str().substr(0, size));
    } else if (node.limit_count == 1) {
      add(limit_in_words(first));
    }
  } else if (node.children == kNoIndex) {
    add("no limits");
  }
  if (child.share) add("one bucket for all that match");
  if (node.children != kNoIndex) {
    const Children& below = nodes_.children_of[node.children];
    if (below.key.kind == KeyKind::kIp) {
      add("by IP address, IPv6 by /" + std::to_string(below.ipv6_prefix));
    } else if (below.key.kind != KeyKind::kText) {
      add("by " + key_text(below.key));
    }
    for (std::uint32_t i = 0; i < below.overrides_count; ++i) {
      const OverridesHere& here = nodes_.overrides_here[below.overrides + i];
      const Overrides& overrides = nodes_.overrides[here.overrides];
      add("limits of their own for " + std::to_string(overrides.ids.size()) +
          " in " + printable(overrides.file));
    }
  }
  return remarks;
}

void Description::add_node(const Child& child, std::size_t indent) {
  const Node& node = child.node;
  table_.add(indent, shown(nodes_.name(child)), remarks(child));
  if (node.limit_count > 1) {
    const std::string here = nodes_.path(node.place);
    for (std::uint32_t i = 0; i < node.limit_count; ++i) {
      const Limit& limit = nodes_.limits[node.first_limit + i];
      const std::string path = std::string(here).append(limit.name_suffix());
      if (limit.policy.view() != path) break;  // already in the remarks
      table_.add(indent + 1, "#" + printable(limit.name.view()),
                 limit_in_words(limit));
    }
  }
  if (node.children != kNoIndex) add_children(node, indent + 1);
}

void Description::add_children(const Node& node, std::size_t indent) {
  std::size_t inherited = 0;
  for (const Child* child : in_order(nodes_.children_of[node.children])) {
    const bool own = nodes_.places[child->node.place].parent == node.place;
    if (own) {
      add_node(*child, indent);
    } else if (++inherited <= kMaxInherited) {
      table_.add(indent, shown(nodes_.name(*child)),
                 "as " + nodes_.path(child->node.place));
    }
  }
  if (inherited > kMaxInherited) {
    table_.add(indent, "...",
               "and " + std::to_string(inherited - kMaxInherited) +
                   " more that are inherited");
  }
}

// The children in the order in which they are tried.
std::vector<const Child*> Description::in_order(
    const Children& children) const {
  std::vector<const Child*> all;
  const auto add = [this, &all](std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      all.push_back(&nodes_.children[first + i]);
    }
  };
  add(children.exact, children.exact_count);
  for (std::uint32_t i = 0; i < children.group_count; ++i) {
    const NetworkGroup& group = nodes_.groups[children.groups + i];
    for (std::uint32_t j = 0; j < group.count; ++j) {
      add(nodes_.networks[group.first + j].child, 1);
    }
  }
  add(children.globs, children.glob_count);
  if (children.any != kNoIndex) add(children.any, 1);
  return all;
}

}  // namespace

std::string Tree::describe() const {
  TextTable table;
  for (const Roots::Root& root : roots_->all) {
    Description(*root.nodes, &table).add();
  }
  return table.text();
}

}  // namespace limitree
