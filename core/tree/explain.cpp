// Tree::explain(): how one path walks down, as text for people.

#include <string>
#include <utility>

#include "base/key.hpp"
#include "text/number.hpp"
#include "text/problems.hpp"
#include "text/text_table.hpp"
#include "tree/nodes.hpp"
#include "tree/tree.hpp"

namespace limitree {

namespace {

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
    table.add(2, "bucket", bucket_name(plan, level));
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

}  // namespace

Result<std::string> Tree::explain(Path path) const {
  Plan plan(Operation::kPeek);
  Status status = match(path, 1, &plan);
  if (!status.ok()) return status;
  const Nodes& nodes = *roots_->root_of(roots_->find(path[0])).nodes;
  return "path\n" + explain_steps(nodes, path) + "levels\n" +
         explain_levels(plan);
}

}  // namespace limitree
