#include "tree/compile.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <unordered_map>

#include "base/plan.hpp"

namespace limitree {

namespace {

constexpr std::uint8_t kDefaultIpv6Prefix = 64;

class Compiler {
 public:
  Compiler(const OverrideFiles& files, std::size_t most_nodes,
           Problems* problems)
      : files_(files), most_nodes_(most_nodes), problems_(problems) {}

  void run(const RootDraft& root);

 private:
  using Files = std::vector<const LoadedOverrides*>;

  std::uint32_t children_of(const Layers& layers);
  std::uint32_t make_children(const Layers& layers);
  MergedList merge(const Layers& layers, Key key);
  bool canonical(const Draft& child, Key key, Merged* merged);
  bool canonical_network(const Draft& child, Merged* merged);
  bool canonical_id(const Draft& child, Key key, Merged* merged);
  Files files_of(const Layers& layers, Key key);
  void apply(const Files& files, MergedList* merged);
  bool within_limits(const MergedList& merged, const Files& files);
  Node make_node(const Merged& merged);
  Text add_text(const Merged& merged);
  bool store(const MergedList& merged, Children* children);
  void store_overrides(const Files& files, Children* children);
  std::size_t count_levels(const Children& children);

  const OverrideFiles& files_;
  const std::size_t most_nodes_;
  Problems* problems_;
  // Of the top-level name that is being compiled:
  const Draft* root_ = nullptr;
  std::string_view origin_;
  Nodes* nodes_ = nullptr;
  std::deque<LoadedOverrides> loaded_;
  std::unordered_map<Layers, std::uint32_t, LayersHash> made_;
  std::vector<std::size_t> levels_;  // by index in Nodes::children_of
  // Of all of them:
  std::size_t written_ = 0;  // in files of overrides, too
  std::size_t node_count_ = 0;
  std::size_t layer_count_ = 0;
  bool too_large_ = false;
};

void Compiler::run(const RootDraft& root) {
  problems_->set_text(root.text);
  root_ = &root.draft;
  origin_ = files_.origins[root.text];
  nodes_ = root.nodes.get();
  written_ += nodes_->places.size();
  loaded_.clear();
  made_.clear();
  levels_.assign(1, 0);

  nodes_->children_of.emplace_back();
  MergedList merged(1);
  merged.front().name = root.draft.name;
  merged.front().layers = {&root.draft};
  Children children;
  if (store(merged, &children)) count_levels(children);
  nodes_->children_of.front() = children;
  nodes_->shrink_to_fit();
}

// The children of a node made of `layers`; kNoIndex if it has none.
std::uint32_t Compiler::children_of(const Layers& layers) {
  const auto governs = [](const Draft* layer) {
    return !layer->children.empty() || layer->key || layer->ipv6_prefix != 0;
  };
  Layers governing;
  std::copy_if(layers.begin(), layers.end(), std::back_inserter(governing),
               governs);
  if (governing.empty() || too_large_) return kNoIndex;

  const auto found = made_.find(governing);
  if (found != made_.end()) return found->second;
  const std::uint32_t index = make_children(governing);
  made_.emplace(std::move(governing), index);
  return index;
}

std::uint32_t Compiler::make_children(const Layers& layers) {
  Children children;
  std::optional<Key> key;
  const bool leaf = std::ranges::all_of(
      layers, [](const Draft* layer) { return layer->children.empty(); });
  for (const Draft* layer : layers) {
    if (!key) key = layer->key;
    if (leaf && layer->key) {
      problems_->add(layer->key_mark, "key needs children: \"*\" is any id");
    }
    if (children.ipv6_prefix == 0) children.ipv6_prefix = layer->ipv6_prefix;
  }
  children.key = key.value_or(Key());
  if (children.ipv6_prefix == 0) {
    children.ipv6_prefix = kDefaultIpv6Prefix;
  } else if (children.key.kind != KeyKind::kIp) {
    for (const Draft* layer : layers) {
      if (layer->ipv6_prefix == 0) continue;
      problems_->add(layer->prefix_mark, "ipv6_prefix needs \"key: ip\"");
    }
  }

  MergedList merged = merge(layers, children.key);
  const Files files = files_of(layers, children.key);
  if (merged.empty() || !within_limits(merged, files)) return kNoIndex;
  apply(files, &merged);
  if (children.key.kind == KeyKind::kTier) {
    check_tiers(merged, files, *nodes_, problems_);
  }
  if (!store(merged, &children)) return kNoIndex;
  if (!files.empty()) store_overrides(files, &children);
  nodes_->children_of.push_back(children);
  levels_.push_back(count_levels(children));
  return static_cast<std::uint32_t>(nodes_->children_of.size() - 1);
}

// The children of all layers by name, each with what it inherits from the
// layers below and then from its "*" sibling.
MergedList Compiler::merge(const Layers& layers, Key key) {
  MergedList list;
  std::unordered_map<std::string_view, Merged*> by_name;
  for (const Draft* layer : layers) {
    for (const Draft& child : layer->children) {
      Merged& merged = list.emplace_back();
      if (!canonical(child, key, &merged)) {
        list.pop_back();
        continue;
      }
      const auto [place, added] = by_name.emplace(merged.name, &merged);
      Merged& kept = *place->second;
      if (!added) list.pop_back();
      if (kept.parent == layer) {
        // The same text again is a duplicate key, which has been reported.
        if (kept.layers.back()->name == child.name) continue;
        problems_->add(child.mark, quote(child.name) + " is the same as " +
                                       quote(kept.layers.back()->name));
        continue;
      }
      if (!kept.inherits) continue;
      kept.layers.push_back(&child);
      kept.parent = layer;
      kept.inherits = child.inherit;
    }
  }

  const auto any = by_name.find("*");
  if (any == by_name.end()) return list;
  const Layers& inherited = any->second->layers;
  for (Merged& merged : list) {
    merged.own = merged.layers.size();
    if (&merged == any->second || !merged.inherits) continue;
    merged.layers.insert(merged.layers.end(), inherited.begin(),
                         inherited.end());
  }
  return list;
}

// Sets the name under which `child` is merged; false if it cannot be here.
bool Compiler::canonical(const Draft& child, Key key, Merged* merged) {
  merged->name = child.name;
  merged->pattern = child.pattern;
  const bool cidr = key.kind == KeyKind::kCidr4 ||
                    key.kind == KeyKind::kCidr6 || key.kind == KeyKind::kDomain;
  switch (child.pattern) {
    case PatternKind::kExact:
      return key.kind == KeyKind::kText || canonical_id(child, key, merged);
    case PatternKind::kNetwork:
      if (key.kind == KeyKind::kIp) return canonical_network(child, merged);
      if (cidr) return canonical_id(child, key, merged);
      problems_->add(child.mark, quote(child.name) +
                                     " is a network, which needs \"key: ip\" "
                                     "on the node above");
      return false;
    case PatternKind::kGlob:
    case PatternKind::kAny:
      return true;
  }
  return false;
}

bool Compiler::canonical_network(const Draft& child, Merged* merged) {
  const std::optional<Network> network =
      problems_->take(parse_network(child.name), child.mark);
  if (!network) return false;
  merged->network = *network;
  merged->text = AddressText(*network).view();
  merged->name = merged->text;
  return true;
}

// A literal id of any kind.
bool Compiler::canonical_id(const Draft& child, Key key, Merged* merged) {
  CanonicalId id;
  if (const char* const wrong = id.set(key, child.name)) {
    problems_->add(child.mark, quote(child.name) + " " + wrong +
                                   (key.kind == KeyKind::kIp
                                        ? ", a network or a pattern with *"
                                        : "") +
                                   ", as \"key: " + key_text(key) + "\" wants");
    return false;
  }
  if (child.share && child.pattern == PatternKind::kNetwork) {
    problems_->add(child.mark, "share needs a pattern, " + quote(child.name) +
                                   " is one id of \"key: " + key_text(key) +
                                   "\"");
  }
  merged->text = id.view();
  merged->name = merged->text;
  merged->pattern = PatternKind::kExact;
  return true;
}

// The files that `layers` name, in the order of the layers.
Compiler::Files Compiler::files_of(const Layers& layers, Key key) {
  Files files;
  for (const Draft* layer : layers) {
    if (layer->overrides.empty()) continue;
    const auto found = std::find_if(
        loaded_.begin(), loaded_.end(), [&](const LoadedOverrides& loaded) {
          return loaded.draft == layer && loaded.key == key;
        });
    if (found != loaded_.end()) {
      files.push_back(&*found);
    } else if (any_child(*layer) != nullptr) {
      loaded_.push_back(
          load_overrides(origin_, files_.read, *layer, key, nodes_, problems_));
      files.push_back(&loaded_.back());
      written_ += loaded_.back().limits.size();
    }
  }
  return files;
}

// What the tree states about a name takes precedence over the files, which add
// the limits that the tree does not state.
void Compiler::apply(const Files& files, MergedList* merged) {
  if (files.empty()) return;
  for (Merged& child : *merged) {
    if (child.pattern != PatternKind::kExact) continue;
    for (const LoadedOverrides* file : files) {
      const std::uint32_t number =
          nodes_->overrides[file->index].ids.find(child.name);
      if (number == IdTable::kNone) continue;
      const std::vector<Draft>& siblings = file->draft->children;
      const auto same = std::find_if(
          child.layers.begin(), child.layers.end(), [&](const Draft* layer) {
            return layer >= siblings.data() &&
                   layer < siblings.data() + siblings.size() &&
                   layer->pattern != PatternKind::kAny;
          });
      if (same != child.layers.end()) {
        problems_->add((*same)->mark, quote((*same)->name) + " is also in " +
                                          printable(file->draft->overrides));
      } else if (child.inherits && number < file->limits.size() &&
                 !child.override_limits) {
        child.override_limits = file->limits[number];
      }
    }
  }
}

bool Compiler::within_limits(const MergedList& merged, const Files& files) {
  node_count_ += merged.size();
  for (const LoadedOverrides* file : files) node_count_ += file->limits.size();
  for (const Merged& child : merged) layer_count_ += child.layers.size();
  const std::size_t most = std::min(max_nodes(written_), most_nodes_);
  if (node_count_ <= most && layer_count_ / kMaxLayers <= most) return true;
  if (std::exchange(too_large_, true)) return false;
  problems_->add(merged.front().first().mark,
                 "overrides and \"*\" multiply to more than " +
                     std::to_string(most) + " nodes");
  return false;
}

Node Compiler::make_node(const Merged& merged) {
  const LimitRange limits = limits_of(merged);
  return {limits.first, limits.count, children_of(merged.layers),
          merged.first().place};
}

// The text of a name: that of its place, if both are the same.
Text Compiler::add_text(const Merged& merged) {
  const Text written = nodes_->places[merged.first().place].name;
  if (merged.name == nodes_->view(written)) return written;
  const Text text{static_cast<std::uint32_t>(nodes_->text.size()),
                  static_cast<std::uint32_t>(merged.name.size())};
  nodes_->text += merged.name;
  return text;
}

// Puts the children, and all below them, into *nodes_ and sets in *children
// where they are.  False if the tree becomes too large.
bool Compiler::store(const MergedList& merged, Children* children) {
  std::vector<Child> exact;
  std::vector<Child> globs;
  std::vector<std::pair<Network, Child>> networks;
  std::optional<Child> any;
  for (const Merged& one : merged) {
    const Child child{add_text(one), make_node(one), one.first().share};
    if (too_large_) return false;
    switch (one.pattern) {
      case PatternKind::kExact:
        exact.push_back(child);
        break;
      case PatternKind::kNetwork:
        networks.emplace_back(one.network, child);
        break;
      case PatternKind::kGlob:
        globs.push_back(child);
        break;
      case PatternKind::kAny:
        any = child;
        break;
    }
  }
  nodes_->store_exact(exact, children);
  nodes_->store_networks(std::move(networks), children);
  nodes_->store_globs(std::move(globs), children);
  if (any) {
    children->any = nodes_->next_child();
    nodes_->children.push_back(*any);
  }
  children->only_any = children->key.kind == KeyKind::kText &&
                       children->glob_count == 0 && any && !any->share;
  return true;
}

// Adds a child for each set of limits in the files.  Apart from its limits,
// each child is the same as "*".
void Compiler::store_overrides(const Files& files, Children* children) {
  const Child any = nodes_->children[children->any];
  children->overrides =
      static_cast<std::uint32_t>(nodes_->overrides_here.size());
  children->overrides_count = static_cast<std::uint32_t>(files.size());
  children->only_any = false;
  for (const LoadedOverrides* file : files) {
    nodes_->overrides_here.push_back({file->index, nodes_->next_child()});
    for (const LimitRange limits : file->limits) {
      Child child = any;
      child.node.first_limit = limits.first;
      child.node.limit_count = limits.count;
      child.share = false;
      nodes_->children.push_back(child);
    }
  }
}

// Returns the most limits that a path meets in `children`, which were stored
// last, and below them.  Reports the deepest nodes with too many.
std::size_t Compiler::count_levels(const Children& children) {
  std::size_t most = 0;
  for (std::uint32_t i = children.exact; i < nodes_->next_child(); ++i) {
    const Node& node = nodes_->children[i].node;
    const std::size_t below =
        node.children == kNoIndex ? 0 : levels_[node.children];
    const std::size_t levels = below + node.limit_count;
    most = std::max(most, levels);
    if (levels <= kMaxLevels || below > kMaxLevels) continue;
    // Places ascend in the order of the text.
    const Draft* written = root_;
    while (written->place != node.place) {
      written = &*std::prev(std::ranges::upper_bound(
          written->children, node.place, {}, &Draft::place));
    }
    problems_->add(written->mark,
                   "from here down a path meets " + std::to_string(levels) +
                       " limits, the most is " + std::to_string(kMaxLevels));
  }
  return most;
}

}  // namespace

void compile(std::span<const RootDraft> roots, const OverrideFiles& files,
             std::size_t most_nodes, Problems* problems) {
  Compiler compiler(files, most_nodes, problems);
  for (const RootDraft& root : roots) compiler.run(root);
}

}  // namespace limitree
