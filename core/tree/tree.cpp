#include "tree/tree.hpp"

#include <utility>

#include "tree/nodes.hpp"
#include "tree/problems.hpp"

namespace limitree {

namespace {

// Removes what was appended to a plan, unless keep() is called.
class Rollback {
 public:
  explicit Rollback(Plan* plan)
      : plan_(plan),
        segments_(plan->segments.size()),
        levels_(plan->levels.size()) {}
  Rollback(const Rollback&) = delete;
  Rollback& operator=(const Rollback&) = delete;
  ~Rollback() {
    if (kept_) return;
    while (plan_->segments.size() > segments_) plan_->segments.pop_back();
    while (plan_->levels.size() > levels_) plan_->levels.pop_back();
  }
  void keep() { kept_ = true; }

 private:
  Plan* plan_;
  std::size_t segments_;
  std::size_t levels_;
  bool kept_ = false;
};

constexpr std::size_t kMaxNamed = 5;  // top-level names in a message

Status unknown_root(const Nodes& nodes, std::string_view segment) {
  const Children& roots = nodes.children_of.front();
  std::string message = "unknown root " + quote(segment);
  if (roots.exact_count == 0) {
    return Status(Code::kUnknownRoot, message + ", the tree is empty");
  }
  message += ", the tree has: ";
  for (std::size_t i = 0; i < roots.exact_count; ++i) {
    if (i == kMaxNamed) {
      message += " and " + std::to_string(roots.exact_count - i) + " more";
      break;
    }
    if (i > 0) message += ", ";
    message += printable(nodes.name(nodes.children[roots.exact + i]));
  }
  return Status(Code::kUnknownRoot, std::move(message));
}

Status bad_segment(std::size_t index, std::string_view segment,
                   const char* wrong) {
  return Status(Code::kInvalidArgument, "segment " + std::to_string(index) +
                                            " " + quote(segment) + " " + wrong);
}

// A path that ended without meeting a limit: a caller who forgot a segment
// would have no limit at all.
Status too_short(const Nodes& nodes, const Node& node) {
  const bool id = nodes.substitutes(nodes.children_of[node.children]);
  return Status(Code::kInvalidArgument,
                "the path ends at " + nodes.path(node.place) +
                    ", which has no limits; " +
                    (id ? "an id is missing" : "a name is missing"));
}

// A node's levels begin at segments[first] of the plan, and end with the last.
[[gnu::always_inline]] inline void append_levels(const Nodes& nodes,
                                                 const Node& node,
                                                 std::uint32_t first,
                                                 std::int64_t cost,
                                                 Plan* plan) {
  const auto depth = static_cast<std::uint32_t>(plan->segments.size()) - first;
  for (std::uint32_t i = 0; i < node.limit_count; ++i) {
    const Limit* const limit = nodes.limits.data() + node.first_limit + i;
    plan->add_level(limit, first, depth, saturating_cost(cost, limit->cost));
  }
}

}  // namespace

Tree::Tree() {
  auto nodes = std::make_unique<Nodes>();
  nodes->children_of.emplace_back();
  nodes_ = std::move(nodes);
}

Tree::Tree(std::unique_ptr<const Nodes> nodes) : nodes_(std::move(nodes)) {}
Tree::Tree(Tree&&) noexcept = default;
Tree& Tree::operator=(Tree&&) noexcept = default;
Tree::~Tree() = default;

const std::vector<Limit>& Tree::limits() const { return nodes_->limits; }

Status Tree::match(Path path, std::int64_t cost, Plan* plan) const {
  const Nodes& nodes = *nodes_;
  if (path.empty()) {
    return Status(Code::kInvalidArgument, "the path is empty");
  }
  const Child* child = nodes.find_exact(nodes.children_of.front(), path[0]);
  if (child == nullptr) return unknown_root(nodes, path[0]);

  Rollback rollback(plan);
  const std::size_t levels = plan->levels.size();
  const auto first = static_cast<std::uint32_t>(plan->segments.size());
  plan->segments.emplace_back(path[0], Segment::Kind::kExact);
  append_levels(nodes, child->node, first, cost, plan);
  std::size_t i = 1;
  for (; i < path.size(); ++i) {
    if (child->node.children == kNoIndex) break;
    const Children& from = nodes.children_of[child->node.children];
    std::string_view text = path[i];
    Segment::Kind kind = Segment::Kind::kExact;
    // Most children are literal names or "*".  For these, text and kind stay in
    // registers; through memory they cost as much as the rest of the walk.
    const Child* next = from.key.kind == KeyKind::kText
                            ? nodes.find_exact(from, text)
                            : nullptr;
    if (next != nullptr) {
      kind = nodes.exact_kind(from);
    } else if (from.only_any) {
      next = &nodes.children[from.any];
      kind = Segment::Kind::kCaller;
    } else {
      Step step;
      if (const char* const wrong = nodes.step(from, text, plan, &step)) {
        return bad_segment(i, path[i], wrong);
      }
      if (step.child == nullptr) break;
      next = step.child;
      text = step.segment.text;
      kind = step.segment.kind;
    }
    child = next;
    plan->segments.emplace_back(text, kind);
    append_levels(nodes, child->node, first, cost, plan);
  }
  if (plan->levels.size() == levels && i == path.size() &&
      child->node.children != kNoIndex && child->node.first_limit == kNoIndex)
      [[unlikely]] {
    return too_short(nodes, child->node);
  }
  rollback.keep();
  return Status();
}

}  // namespace limitree
