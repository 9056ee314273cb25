#include "tree/walk.hpp"

#include <string>
#include <utility>

#include "text/problems.hpp"

namespace limitree {

namespace walks {

namespace {

constexpr std::size_t kMaxNamed = 5;  // top-level names in a message

}  // namespace

Status unknown_root(const Roots& roots, std::string_view segment) {
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

Status bad_segment(std::size_t index, std::string_view segment,
                   const char* wrong) {
  return Status(Code::kInvalidArgument, "segment " + std::to_string(index) +
                                            " " + quote(segment) + " " + wrong);
}

Status empty_path() {
  return Status(Code::kInvalidArgument, "the path is empty");
}

Status too_short(const Nodes& nodes, const Node& node) {
  const bool id = nodes.substitutes(nodes.children_of[node.children]);
  return Status(Code::kInvalidArgument,
                "the path ends at " + nodes.path(node.place) +
                    ", which has no limits; " +
                    (id ? "an id is missing" : "a name is missing"));
}

void take_back(std::size_t segments, std::size_t levels, Plan* plan) {
  plan->segments.resize(segments);
  plan->levels.resize(levels);
}

Found find_otherwise(const Nodes& nodes, const Children& from,
                     std::string_view text, Plan* plan) {
  Step step;
  const char* const wrong = nodes.step(from, text, plan, &step);
  if (wrong == nullptr && step.child != nullptr) {
    plan->segments.push_back(step.segment);
  }
  return {step.child, wrong};
}

}  // namespace walks

Status Tree::match(Path path, std::int64_t cost, Plan* plan) const {
  return walk(path, cost, plan);
}

}  // namespace limitree
