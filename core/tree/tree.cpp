#include "tree/tree.hpp"

#include <algorithm>
#include <utility>

#include "text/problems.hpp"
#include "tree/nodes.hpp"

namespace limitree {

namespace {

using Root = Roots::Root;

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

}  // namespace limitree
