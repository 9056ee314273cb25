#include "tree/path_levels.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "base/plan.hpp"

namespace limitree {

namespace {

// Where the node of a place was written.
struct Written {
  std::size_t text;
  Mark mark;
};

void note(const Draft& draft, std::size_t text, std::vector<Written>* written) {
  (*written)[draft.place] = {text, draft.mark};
  for (const Draft& child : draft.children) note(child, text, written);
}

class PathLevels {
 public:
  PathLevels(const Nodes& nodes, std::vector<Written> written,
             Problems* problems)
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
    const Written& written = written_[node.place];
    problems_->set_text(written.text);
    problems_->add(written.mark,
                   "from here down a path meets " + std::to_string(levels) +
                       " limits, the most is " + std::to_string(kMaxLevels));
  }

  const Nodes& nodes_;
  const std::vector<Written> written_;
  Problems* const problems_;
  std::vector<std::size_t> most_;  // by index of Nodes::children_of
};

}  // namespace

void refuse_long_paths(std::span<const std::vector<Draft>> texts,
                       const Nodes& nodes, Problems* problems) {
  // No path meets a limit twice.
  if (nodes.limits.size() <= kMaxLevels) return;
  std::vector<Written> written(nodes.places.size());
  for (std::size_t text = 0; text < texts.size(); ++text) {
    for (const Draft& root : texts[text]) note(root, text, &written);
  }
  PathLevels(nodes, std::move(written), problems).count();
}

}  // namespace limitree
