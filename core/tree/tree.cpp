#include "tree/tree.hpp"

#include <algorithm>
#include <utility>

#include "text/problems.hpp"
#include "tree/nodes.hpp"

namespace limitree {

namespace {

using Root = Roots::Root;

constexpr std::size_t kMaxNamed = 5;  // top-level names in a message

// Errors are made out of line: with their texts, a walk that succeeds would
// have a frame of twice the size.
[[gnu::cold, gnu::noinline]] Status unknown_root(const Roots& roots,
                                                 std::string_view segment) {
  std::string message = "unknown root " + quote(segment);
  if (roots.all.empty()) {
    return Status(Code::kUnknownRoot, message + ", the tree is empty");
  }
  message += ", the tree has: ";
  for (std::size_t i = 0; i < roots.all.size(); ++i) {
    if (i == kMaxNamed) {
      message += " and " + std::to_string(roots.all.size() - i) + " more";
      break;
    }
    if (i > 0) message += ", ";
    message += printable(roots.names.name(roots.names.children[i]));
  }
  return Status(Code::kUnknownRoot, std::move(message));
}

[[gnu::cold, gnu::noinline]] Status bad_segment(std::size_t index,
                                                std::string_view segment,
                                                const char* wrong) {
  return Status(Code::kInvalidArgument, "segment " + std::to_string(index) +
                                            " " + quote(segment) + " " + wrong);
}

[[gnu::cold, gnu::noinline]] Status empty_path() {
  return Status(Code::kInvalidArgument, "the path is empty");
}

// A path that ended without meeting a limit: a caller who forgot a segment
// would have no limit at all.
[[gnu::cold, gnu::noinline]] Status too_short(const Nodes& nodes,
                                              const Node& node) {
  const bool id = nodes.substitutes(nodes.children_of[node.children]);
  return Status(Code::kInvalidArgument,
                "the path ends at " + nodes.path(node.place) +
                    ", which has no limits; " +
                    (id ? "an id is missing" : "a name is missing"));
}

// The first of `count` consecutive indices that no limit of `roots` has.  Roots
// without nodes do not count.
std::uint32_t free_indices(std::span<const Root> roots, std::size_t count) {
  std::vector<std::pair<std::size_t, std::size_t>> taken;  // first, end
  for (const Root& root : roots) {
    if (root.nodes == nullptr || root.nodes->limits.empty()) continue;
    const std::vector<Limit>& limits = root.nodes->limits;
    taken.emplace_back(limits.front().index, limits.back().index + 1u);
  }
  std::ranges::sort(taken);
  std::size_t first = 0;
  for (const auto& [begin, end] : taken) {
    if (begin - first >= count) break;
    first = end;
  }
  return static_cast<std::uint32_t>(first);
}

// Lays the names of `all` out, so that a walk finds them.
std::unique_ptr<const Roots> arrange(std::vector<Root> all) {
  auto roots = std::make_unique<Roots>();
  std::vector<Child> names;
  for (const Root& root : all) {
    const Nodes& nodes = *root.nodes;
    const Child& child = nodes.root();
    const Text name{static_cast<std::uint32_t>(roots->names.text.size()),
                    child.name.size};
    roots->names.text += nodes.name(child);
    names.push_back({name, child.node, false});
    roots->limit_count += nodes.limits.size();
    if (root.added) roots->added_bytes += nodes.bytes();
    if (nodes.limits.empty()) continue;
    roots->index_end =
        std::max(roots->index_end, nodes.limits.back().index + 1);
  }
  roots->names.store_exact(names, &roots->at);
  roots->all = std::move(all);
  return roots;
}

// A node's levels begin at segments[first] of the plan, and take `depth`.
[[gnu::always_inline]] inline void append_levels(
    const Nodes& nodes, const Node& node, std::uint32_t first,
    std::uint32_t depth, std::int64_t cost, Plan* plan) {
  for (std::uint32_t i = 0; i < node.limit_count; ++i) {
    const Limit* const limit = nodes.limits.data() + node.first_limit + i;
    plan->add_level(limit, first, depth, saturating_cost(cost, limit->cost));
  }
}

// Leaves so many segments and levels of a plan.
[[gnu::cold, gnu::noinline]] void take_back(std::size_t segments,
                                            std::size_t levels, Plan* plan) {
  plan->segments.resize(segments);
  plan->levels.resize(levels);
}

// What a path finds below a node where a "*" and literal names are not all.
struct Found {
  const Child* child;  // null: nothing
  const char* wrong;   // with the segment, in static storage; null: nothing
};

// Appends the segment, if there is a child.
[[gnu::noinline]] Found find_otherwise(const Nodes& nodes, const Children& from,
                                       std::string_view text, Plan* plan) {
  Step step;
  const char* const wrong = nodes.step(from, text, plan, &step);
  if (wrong == nullptr && step.child != nullptr) {
    plan->segments.push_back(step.segment);
  }
  return {step.child, wrong};
}

}  // namespace

Tree::Tree() : roots_(arrange({})) {}
Tree::Tree(std::unique_ptr<const Roots> roots) : roots_(std::move(roots)) {}
Tree::Tree(Tree&&) noexcept = default;
Tree& Tree::operator=(Tree&&) noexcept = default;
Tree::~Tree() = default;

Tree::Tree(std::vector<std::shared_ptr<Nodes>> roots) {
  std::vector<Root> all;
  std::size_t first = 0;
  for (std::shared_ptr<Nodes>& root : roots) {
    root->set_indices(static_cast<std::uint32_t>(first));
    first += root->limits.size();
    all.push_back({std::move(root)});
  }
  roots_ = arrange(std::move(all));
}

std::string_view Tree::name_of(const Nodes& root) {
  return root.name(root.root());
}

bool Tree::has(std::string_view name) const {
  return roots_->find(name) != nullptr;
}

bool Tree::has_added(std::string_view name) const {
  const Child* const found = roots_->find(name);
  return found != nullptr && roots_->root_of(found).added;
}

Tree Tree::with(std::shared_ptr<Nodes> root) const {
  std::vector<Root> all = roots_->all;
  std::size_t place = all.size();
  if (const Child* const old = roots_->find(name_of(*root))) {
    place = static_cast<std::size_t>(old - roots_->names.children.data());
    all[place].nodes = nullptr;  // its indices are free
  } else {
    all.push_back({nullptr, true});
  }
  root->set_indices(free_indices(all, root->limits.size()));
  all[place].nodes = std::move(root);
  return Tree(arrange(std::move(all)));
}

Tree Tree::without(std::string_view name) const {
  std::vector<Root> all = roots_->all;
  const Child* const found = roots_->find(name);
  all.erase(all.begin() + (found - roots_->names.children.data()));
  return Tree(arrange(std::move(all)));
}

Result<Tree> Tree::with_added_of(const Tree& old) const {
  std::vector<Root> all = roots_->all;
  std::uint32_t next = index_end();
  for (const Root& root : old.roots_->all) {
    if (!root.added) continue;
    const std::string_view name = name_of(*root.nodes);
    if (has(name)) {
      return Status(Code::kInvalidConfig,
                    quote(name) +
                        " is a top-level name of these limits, and was put "
                        "beside the old ones");
    }
    // A copy: requests that still run read the old indices.
    auto copy = std::make_shared<Nodes>(*root.nodes);
    copy->set_indices(next);
    next += static_cast<std::uint32_t>(copy->limits.size());
    all.push_back({std::move(copy), true});
  }
  return Tree(arrange(std::move(all)));
}

std::vector<std::span<const Limit>> Tree::limits() const {
  std::vector<std::span<const Limit>> limits;
  for (const Root& root : roots_->all) limits.emplace_back(root.nodes->limits);
  return limits;
}

std::span<const Limit> Tree::limits_of(std::string_view name) const {
  const Child* const found = roots_->find(name);
  if (found == nullptr) return {};
  return roots_->root_of(found).nodes->limits;
}

std::size_t Tree::limit_count() const { return roots_->limit_count; }
std::uint32_t Tree::index_end() const { return roots_->index_end; }
std::size_t Tree::added_bytes() const { return roots_->added_bytes; }

Status Tree::match(Path path, std::int64_t cost, Plan* plan) const {
  if (path.empty()) return empty_path();
  const Child* child = roots_->find(path[0]);
  if (child == nullptr) return unknown_root(*roots_, path[0]);
  const Nodes& nodes = *roots_->root_of(child).nodes;

  const std::size_t levels = plan->levels.size();
  const auto first = static_cast<std::uint32_t>(plan->segments.size());
  plan->segments.emplace_back(path[0], Segment::Kind::kExact);
  append_levels(nodes, child->node, first, 1, cost, plan);
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
      const Found found = find_otherwise(nodes, from, text, plan);
      if (found.wrong != nullptr) {
        take_back(first, levels, plan);
        return bad_segment(depth, text, found.wrong);
      }
      if (found.child == nullptr) break;
      next = found.child;
    }
    child = next;
    append_levels(nodes, child->node, first, depth + 1, cost, plan);
  }
  if (plan->levels.size() == levels && depth == path.size() &&
      child->node.children != kNoIndex && child->node.first_limit == kNoIndex)
      [[unlikely]] {
    take_back(first, levels, plan);
    return too_short(nodes, child->node);
  }
  return {};
}

}  // namespace limitree
