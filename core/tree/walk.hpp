// The walk down a path, inline for the code that decides.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/plan.hpp"
#include "base/status.hpp"
#include "tree/nodes.hpp"
#include "tree/tree.hpp"

namespace limitree {

// What a walk does seldom, out of line: with the texts of errors, one that
// succeeds would have a frame of twice the size.
namespace walks {

[[gnu::cold, gnu::noinline]] Status empty_path();
[[gnu::cold, gnu::noinline]] Status unknown_root(const Roots& roots,
                                                 std::string_view segment);
[[gnu::cold, gnu::noinline]] Status bad_segment(std::size_t index,
                                                std::string_view segment,
                                                const char* wrong);

// A path that ended without meeting a limit: a caller who forgot a segment
// would have no limit at all.
[[gnu::cold, gnu::noinline]] Status too_short(const Nodes& nodes,
                                              const Node& node);

// Leaves so many segments and levels of a plan.
[[gnu::cold, gnu::noinline]] void take_back(std::size_t segments,
                                            std::size_t levels, Plan* plan);

// What a path finds below a node where a "*" and literal names are not all.
struct Found {
  const Child* child;  // null: nothing
  const char* wrong;   // with the segment, in static storage; null: nothing
};

// Appends the segment, if there is a child.
[[gnu::noinline]] Found find_otherwise(const Nodes& nodes, const Children& from,
                                       std::string_view text, Plan* plan);

// Appends the levels of a node, which begin at segments[first] of the plan, and
// take `depth`.
[[gnu::always_inline]] inline void append_levels(
    const Nodes& nodes, const Node& node, std::uint32_t first,
    std::uint32_t depth, std::int64_t cost, Plan* plan) {
  for (std::uint32_t i = 0; i < node.limit_count; ++i) {
    const Limit* const limit = nodes.limits.data() + node.first_limit + i;
    plan->add_level(limit, first, depth, saturating_cost(cost, limit->cost));
  }
}

}  // namespace walks

[[gnu::always_inline]] inline Status Tree::walk(Path path, std::int64_t cost,
                                                Plan* plan) const {
  if (path.empty()) return walks::empty_path();
  const Child* child = roots_->find(path[0]);
  if (child == nullptr) return walks::unknown_root(*roots_, path[0]);
  const Nodes& nodes = *roots_->root_of(child).nodes;

  const std::size_t levels = plan->levels.size();
  const auto first = static_cast<std::uint32_t>(plan->segments.size());
  plan->segments.emplace_back(path[0], Segment::Kind::kExact);
  walks::append_levels(nodes, child->node, first, 1, cost, plan);
  std::uint32_t depth = 1;
  for (; depth < path.size(); ++depth) {
    if (child->node.children == kNoIndex) break;
    const Children& from = nodes.children_of.data()[child->node.children];
    const std::string_view text = path[depth];
    // Most children are literal names or "*".
    const Child* next = from.key.kind == KeyKind::kText
                            ? nodes.find_exact(from, text)
                            : nullptr;
    if (next != nullptr) {
      plan->segments.emplace_back(text, nodes.exact_kind(from));
    } else if (from.only_any) {
      next = nodes.children.data() + from.any;
      plan->segments.emplace_back(text, Segment::Kind::kCaller);
    } else {
      const walks::Found found = walks::find_otherwise(nodes, from, text, plan);
      if (found.wrong != nullptr) {
        walks::take_back(first, levels, plan);
        return walks::bad_segment(depth, text, found.wrong);
      }
      if (found.child == nullptr) break;
      next = found.child;
    }
    child = next;
    walks::append_levels(nodes, child->node, first, depth + 1, cost, plan);
  }
  if (plan->levels.size() == levels && depth == path.size() &&
      child->node.children != kNoIndex && child->node.first_limit == kNoIndex)
      [[unlikely]] {
    walks::take_back(first, levels, plan);
    return walks::too_short(nodes, child->node);
  }
  return {};
}

}  // namespace limitree
