#include "tree/path_levels.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/plan.hpp"

namespace limitree {

namespace {

// Says by place where each node was written.
void note(const Draft& draft, std::vector<Mark>* written) {
  (*written)[draft.place] = draft.mark;
  for (const Draft& child : draft.children) note(child, written);
}

class PathLevels {
 public:
  PathLevels(const Nodes& nodes, std::vector<Mark> written, Problems* problems)
      : nodes_(nodes),
        written_(std::move(written)),
        problems_(problems),
        most_(nodes.children_of.size()) {}

  // compile() stores the children of a node in one piece, after everything
  // below them.  The children of the root, whose index is 0, come last.
  void count() {
    const std::vector<Children>& all = nodes_.children_of;
    for (std::size_t i = 1; i < all.size(); ++i) {
      const std::size_t next = i + 1 < all.size() ? i + 1 : 0;
      count(i, all[i].exact, all[next].exact);
    }
    count(0, all[0].exact, nodes_.next_child());
  }

 private:
  void count(std::size_t index, std::uint32_t first, std::uint32_t end) {
    for (std::uint32_t i = first; i < end; ++i) {
      const Node& node = nodes_.children[i].node;
      const std::size_t below =
          node.children == kNoIndex ? 0 : most_[node.children];
      const std::size_t levels = below + node.limit_count;
      most_[index] = std::max(most_[index], levels);
      if (levels > kMaxLevels && below <= kMaxLevels) refuse(node, levels);
    }
  }

  void refuse(const Node& node, std::size_t levels) {
    problems_->add(written_[node.place],
                   "from here down a path meets " + std::to_string(levels) +
                       " limits, the most is " + std::to_string(kMaxLevels));
  }

  const Nodes& nodes_;
  const std::vector<Mark> written_;  // by place
  Problems* const problems_;
  std::vector<std::size_t> most_;  // by index of Nodes::children_of
};

}  // namespace

void refuse_long_paths(const RootDraft& root, Problems* problems) {
  const Nodes& nodes = *root.nodes;
  // No path meets a limit twice.
  if (nodes.limits.size() <= kMaxLevels) return;
  problems->set_text(root.text);
  std::vector<Mark> written(nodes.places.size());
  note(root.draft, &written);
  PathLevels(nodes, std::move(written), problems).count();
}

}  // namespace limitree
