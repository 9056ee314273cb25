// Tree::describe() and Tree::explain(): texts for people.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/key.hpp"
#include "base/lease.hpp"
#include "text/number.hpp"
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

// The text after the name of a node, without limits that get their own lines.
std::string remarks_on(const Nodes& nodes, const Child& child) {
  std::string remarks;
  const auto add = [&remarks](const std::string& remark) {
    if (!remarks.empty()) remarks += "; ";
    remarks += remark;
  };
  const Node& node = child.node;
  if (node.limit_count > 0) {
    const Limit& first = nodes.limits[node.first_limit];
    const std::string_view suffix = first.name_suffix();
    const std::string here = nodes.path(node.place).append(suffix);
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
    const Children& below = nodes.children_of[node.children];
    if (below.key.kind == KeyKind::kIp) {
      add("by IP address, IPv6 by /" + std::to_string(below.ipv6_prefix));
    } else if (below.key.kind != KeyKind::kText) {
      add("by " + key_text(below.key));
    }
    for (std::uint32_t i = 0; i < below.overrides_count; ++i) {
      const OverridesHere& here = nodes.overrides_here[below.overrides + i];
      const Overrides& overrides = nodes.overrides[here.overrides];
      add("limits of their own for " + std::to_string(overrides.ids.size()) +
          " in " + printable(overrides.file));
    }
  }
  return remarks;
}

// The children in the order in which they are tried.
std::vector<const Child*> in_order(const Nodes& nodes,
                                   const Children& children) {
  std::vector<const Child*> all;
  const auto add = [&](std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      all.push_back(&nodes.children[first + i]);
    }
  };
  add(children.exact, children.exact_count);
  for (std::uint32_t i = 0; i < children.group_count; ++i) {
    const NetworkGroup& group = nodes.groups[children.groups + i];
    for (std::uint32_t j = 0; j < group.count; ++j) {
      add(nodes.networks[group.first + j].child, 1);
    }
  }
  add(children.globs, children.glob_count);
  if (children.any != kNoIndex) add(children.any, 1);
  return all;
}

void add_children(const Nodes& nodes, const Node& node, std::size_t indent,
                  TextTable* table);

void add_node(const Nodes& nodes, const Child& child, std::size_t indent,
              TextTable* table) {
  const Node& node = child.node;
  table->add(indent, shown(nodes.name(child)), remarks_on(nodes, child));
  if (node.limit_count > 1) {
    const std::string here = nodes.path(node.place);
    for (std::uint32_t i = 0; i < node.limit_count; ++i) {
      const Limit& limit = nodes.limits[node.first_limit + i];
      const std::string path = std::string(here).append(limit.name_suffix());
      if (limit.policy.view() != path) break;  // already in the remarks
      table->add(indent + 1, "#" + printable(limit.name.view()),
                 limit_in_words(limit));
    }
  }
  if (node.children != kNoIndex) add_children(nodes, node, indent + 1, table);
}

void add_children(const Nodes& nodes, const Node& node, std::size_t indent,
                  TextTable* table) {
  std::size_t inherited = 0;
  for (const Child* child : in_order(nodes, nodes.children_of[node.children])) {
    const bool own = nodes.places[child->node.place].parent == node.place;
    if (own) {
      add_node(nodes, *child, indent, table);
    } else if (++inherited <= kMaxInherited) {
      table->add(indent, shown(nodes.name(*child)),
                 "as " + nodes.path(child->node.place));
    }
  }
  if (inherited > kMaxInherited) {
    table->add(indent, "...",
               "and " + std::to_string(inherited - kMaxInherited) +
                   " more that are inherited");
  }
}

// ---- explain() --------------------------------------------------------------

// Why a segment led to a child of the node whose place is `parent`.
std::string reason(const Nodes& nodes, const Step& step,
                   std::string_view segment, std::uint32_t parent) {
  const Child& child = *step.child;
  const std::string name = printable(nodes.name(child));
  std::string why;
  switch (step.pattern) {
    case PatternKind::kExact:
      why = step.overrides == nullptr
                ? "exact child"
                : "one of " + printable(step.overrides->file);
      break;
    case PatternKind::kNetwork:
      why = "lies in " + name;
      break;
    case PatternKind::kGlob:
      why = "matches \"" + name + "\"";
      break;
    case PatternKind::kAny:
      why = "matches \"*\", no other child does";
      break;
  }
  if (child.share) {
    why += ", one bucket for all that match";
  } else if (step.segment.text != segment) {
    why += ", counted as " + printable(step.segment.text);
  }
  const std::uint32_t written = nodes.places[child.node.place].parent;
  if (written != parent) why += ", inherited from " + nodes.path(written);
  if (child.node.limit_count == 0) why += ", no limits here";
  return why;
}

// Returns a line for each segment, and where the walk ended.
// REQUIRES: match() accepts `path`.
std::string explain_steps(const Nodes& nodes, Path path) {
  TextTable table;
  Plan scratch(Operation::kPeek);
  const Child* child = &nodes.root();
  table.add(1, printable(path[0]), "top-level name");
  for (std::size_t i = 1; i < path.size(); ++i) {
    const std::string segment = path[i].empty() ? "\"\"" : printable(path[i]);
    const Node node = child->node;
    if (node.children == kNoIndex) {
      table.add(1, segment,
                "nothing is below " + nodes.path(node.place) +
                    ": the walk ends before it");
      break;
    }
    Step step;
    nodes.step(nodes.children_of[node.children], path[i], &scratch, &step);
    if (step.child == nullptr) {
      table.add(1, segment,
                "no child of " + nodes.path(node.place) +
                    " matches: the walk ends before it");
      break;
    }
    table.add(1, segment, reason(nodes, step, path[i], node.place));
    child = step.child;
  }
  return table.text();
}

std::string explain_levels(const Plan& plan) {
  if (plan.levels.empty()) return "  none: the path is unlimited\n";
  TextTable table;
  for (const Level& level : plan.levels) {
    const Limit& limit = *level.limit;
    table.add(1, limit.policy.str(), limit_in_words(limit));
    const std::string bucket = bucket_name(plan, level);
    table.add(2, "bucket", is_printable(bucket) ? bucket : printable(bucket));
    if (limit.algorithm == Algorithm::kConcurrent) continue;
    if (is_window(limit.algorithm)) {
      table.add(2, "window", period_in_words(limit) + ", all of it at once");
      continue;
    }
    table.add(2, "refill",
              "one token per " + spoken_duration(limit.rate.emission_interval) +
                  ", full after " + spoken_duration(limit.rate.burst_offset()));
  }
  return table.text();
}

// Why units of a path are not leased; empty if they are.  REQUIRES: at least
// one level is leased.
std::string why_not_leased(const Plan& plan) {
  for (const Level& level : plan.levels) {
    const Limit& limit = *level.limit;
    const char* const why = !limit.is_leased()             ? " has no lease"
                            : limit.mode != Mode::kEnforce ? " only looks on"
                            : limit.cost == 0              ? " has cost 0"
                                                           : nullptr;
    if (why != nullptr) return limit.policy.str() + why;
  }
  if (plan.levels.size() <= kMaxLeasedLevels) return {};
  return "the path has more than " + std::to_string(kMaxLeasedLevels) +
         " levels";
}

// Whether a cluster keeps some levels with their callers, and others apart.
bool lies_in_two_slots(const Plan& plan) {
  std::uint32_t callers = 0;
  while (callers < plan.segments.size() &&
         plan.segments[callers].kind == Segment::Kind::kExact) {
    ++callers;
  }
  const auto is_above = [callers](const Level& level) {
    return level.depth <= callers;
  };
  return std::ranges::any_of(plan.levels, is_above) &&
         !std::ranges::all_of(plan.levels, is_above);
}

// Whether a process may take units of the path at once; empty if no limit says
// so.
std::string explain_leases(const Plan& plan) {
  Duration lease = Duration::max();
  for (const Level& level : plan.levels) {
    if (level.limit->is_leased()) lease = std::min(lease, level.limit->lease);
  }
  if (lease == Duration::max()) return {};
  const std::string why = why_not_leased(plan);
  if (!why.empty()) return "leases\n  not leased: " + why + '\n';
  return "leases\n  of all levels together, for " + format_duration(lease) +
         (lies_in_two_slots(plan) ? "; not in a cluster, where the levels lie "
                                    "in two slots\n"
                                  : "\n");
}

}  // namespace

std::string Tree::describe() const {
  TextTable table;
  for (const Roots::Root& root : roots_->all) {
    add_node(*root.nodes, root.nodes->root(), 0, &table);
  }
  return table.text();
}

Result<std::string> Tree::explain(Path path) const {
  Plan plan(Operation::kPeek);
  Status status = match(path, 1, &plan);
  if (!status.ok()) return status;
  const Nodes& nodes = *roots_->root_of(roots_->find(path[0])).nodes;
  return "path\n" + explain_steps(nodes, path) + "levels\n" +
         explain_levels(plan) + explain_leases(plan);
}

}  // namespace limitree
