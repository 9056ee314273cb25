#include "tree/compile.hpp"

#include <algorithm>
#include <bit>
#include <deque>
#include <unordered_map>

namespace limitree {

namespace {

constexpr std::uint8_t kDefaultIpv6Prefix = 64;
constexpr std::uint32_t kCompareUpTo = 8;  // names; more get a hash table
constexpr std::size_t kMaxLayers = 8 * kMaxNodes;

// The nodes as written that make up one node of the tree: what an earlier one
// states goes before what a later one does.
using Layers = std::vector<const Draft*>;

struct LayersHash {
  std::size_t operator()(const Layers& layers) const {
    std::size_t hash = layers.size();
    for (const Draft* layer : layers) {
      hash = (hash ^ std::hash<const Draft*>()(layer)) * 0x9e3779b97f4a7c15;
      hash ^= hash >> 29;
    }
    return hash;
  }
};

// One child of a node: the children of that name in all its layers.
struct Merged {
  std::string_view name;  // canonical; borrows from `text` or a draft
  std::string text;
  Network network;  // if it is one
  Layers layers;
  const Draft* parent = nullptr;  // that the last of the layers is a child of
  bool inherits = true;

  const Draft& first() const { return *layers.front(); }
};

class Compiler {
 public:
  Compiler(Nodes* nodes, Problems* problems)
      : nodes_(nodes), problems_(problems) {}

  void run(std::span<const std::vector<Draft>> texts);

 private:
  using MergedList = std::deque<Merged>;  // they do not move

  std::uint32_t children_of(const Layers& layers);
  std::uint32_t make_children(const Layers& layers);
  MergedList merge(const Layers& layers, bool ip);
  bool canonical(const Draft& child, bool ip, Merged* merged);
  bool canonical_address(const Draft& child, Merged* merged);
  bool within_limits(const MergedList& merged);
  Node make_node(const Merged& merged);
  Text add_text(const Merged& merged);
  bool store(const MergedList& merged, Children* children);
  void store_exact(const std::vector<Child>& exact, Children* children);
  void store_networks(const std::vector<Child>& networks,
                      const std::vector<Network>& addresses,
                      Children* children);
  void store_globs(std::vector<Child> globs, Children* children);
  std::uint32_t next_child() const {
    return static_cast<std::uint32_t>(nodes_->children.size());
  }

  Nodes* nodes_;
  Problems* problems_;
  std::unordered_map<Layers, std::uint32_t, LayersHash> made_;
  std::size_t node_count_ = 0;
  std::size_t layer_count_ = 0;
  bool too_large_ = false;
};

void Compiler::run(std::span<const std::vector<Draft>> texts) {
  nodes_->children_of.emplace_back();
  MergedList merged;
  for (std::size_t text = 0; text < texts.size(); ++text) {
    problems_->set_text(text);
    for (const Draft& root : texts[text]) {
      merged.emplace_back();
      merged.back().name = root.name;
      merged.back().layers = {&root};
      children_of(merged.back().layers);  // here, where its text is known
    }
  }
  Children children;
  store(merged, &children);
  nodes_->children_of.front() = children;

  // The tree may live long and be large; it never grows again.
  nodes_->limits.shrink_to_fit();
  nodes_->children_of.shrink_to_fit();
  nodes_->children.shrink_to_fit();
  nodes_->networks.shrink_to_fit();
  nodes_->slots.shrink_to_fit();
  nodes_->places.shrink_to_fit();
  nodes_->text.shrink_to_fit();
}

// The children of a node made of `layers`; kNoIndex if it has none.
std::uint32_t Compiler::children_of(const Layers& layers) {
  const auto governs = [](const Draft* layer) {
    return !layer->children.empty() || layer->ip || layer->ipv6_prefix != 0;
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
  for (const Draft* layer : layers) {
    children.ip |= layer->ip;
    if (children.ipv6_prefix == 0) children.ipv6_prefix = layer->ipv6_prefix;
  }
  if (children.ipv6_prefix == 0) {
    children.ipv6_prefix = kDefaultIpv6Prefix;
  } else if (!children.ip) {
    for (const Draft* layer : layers) {
      if (layer->ipv6_prefix == 0) continue;
      problems_->add(layer->prefix_mark, "ipv6_prefix needs \"key: ip\"");
    }
  }

  const MergedList merged = merge(layers, children.ip);
  if (merged.empty() || !within_limits(merged)) return kNoIndex;
  if (!store(merged, &children)) return kNoIndex;
  nodes_->children_of.push_back(children);
  return static_cast<std::uint32_t>(nodes_->children_of.size() - 1);
}

// The children of all layers by name, each with what it inherits from the
// layers below and then from its "*" sibling.
Compiler::MergedList Compiler::merge(const Layers& layers, bool ip) {
  MergedList list;
  std::unordered_map<std::string_view, Merged*> by_name;
  for (const Draft* layer : layers) {
    for (const Draft& child : layer->children) {
      Merged& merged = list.emplace_back();
      if (!canonical(child, ip, &merged)) {
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
    if (&merged == any->second || !merged.inherits) continue;
    merged.layers.insert(merged.layers.end(), inherited.begin(),
                         inherited.end());
  }
  return list;
}

// Sets the name under which `child` is merged; false if it cannot be here.
bool Compiler::canonical(const Draft& child, bool ip, Merged* merged) {
  merged->name = child.name;
  if (child.pattern == PatternKind::kNetwork) {
    if (!ip) {
      problems_->add(child.mark, quote(child.name) +
                                     " is a network, which needs \"key: ip\" "
                                     "on the node above");
      return false;
    }
    Result<Network> network = parse_network(child.name);
    if (!network.ok()) {
      problems_->add(child.mark, network.status().error().messages.front());
      return false;
    }
    merged->network = network.value();
    merged->text = AddressText(network.value()).view();
    merged->name = merged->text;
  }
  if (child.pattern == PatternKind::kExact && ip) {
    return canonical_address(child, merged);
  }
  return true;
}

bool Compiler::canonical_address(const Draft& child, Merged* merged) {
  const std::optional<Address> address = parse_address(child.name);
  if (!address) {
    problems_->add(child.mark, quote(child.name) +
                                   " is not an IP address, a network or a "
                                   "pattern with *, as \"key: ip\" wants");
    return false;
  }
  merged->text = AddressText(*address).view();
  merged->name = merged->text;
  return true;
}

bool Compiler::within_limits(const MergedList& merged) {
  node_count_ += merged.size();
  for (const Merged& child : merged) layer_count_ += child.layers.size();
  if (node_count_ <= kMaxNodes && layer_count_ <= kMaxLayers) return true;
  if (!too_large_) {
    problems_->add(merged.front().first().mark,
                   "overrides and \"*\" multiply to more than " +
                       std::to_string(kMaxNodes) + " nodes");
  }
  too_large_ = true;
  return false;
}

Node Compiler::make_node(const Merged& merged) {
  Node node{0, 0, children_of(merged.layers), merged.first().place};
  for (const Draft* layer : merged.layers) {
    if (!layer->limits_stated) continue;
    node.first_limit = layer->first_limit;
    node.limit_count = layer->limit_count;
    break;
  }
  return node;
}

// The text of a name; that of its place, where it is written the same.
Text Compiler::add_text(const Merged& merged) {
  const Text written = nodes_->places[merged.first().place].name;
  if (merged.name == nodes_->view(written)) return written;
  const Text text{static_cast<std::uint32_t>(nodes_->text.size()),
                  static_cast<std::uint32_t>(merged.name.size())};
  nodes_->text += merged.name;
  return text;
}
// Puts the children, and all below them, into *nodes_ and says in *children
// where.  False if the tree becomes too large.
bool Compiler::store(const MergedList& merged, Children* children) {
  std::vector<Child> exact;
  std::vector<Child> globs;
  std::vector<Child> networks;
  std::vector<Network> addresses;  // of `networks`
  std::optional<Child> any;
  for (const Merged& one : merged) {
    const Child child{add_text(one), make_node(one), one.first().share};
    if (too_large_) return false;
    switch (one.first().pattern) {
      case PatternKind::kExact:
        exact.push_back(child);
        break;
      case PatternKind::kNetwork:
        networks.push_back(child);
        addresses.push_back(one.network);
        break;
      case PatternKind::kGlob:
        globs.push_back(child);
        break;
      case PatternKind::kAny:
        any = child;
        break;
    }
  }
  store_exact(exact, children);
  store_networks(networks, addresses, children);
  store_globs(std::move(globs), children);
  if (any) {
    children->any = next_child();
    nodes_->children.push_back(*any);
  }
  return true;
}

void Compiler::store_exact(const std::vector<Child>& exact,
                           Children* children) {
  std::vector<Child>& all = nodes_->children;
  children->exact = next_child();
  children->exact_count = static_cast<std::uint32_t>(exact.size());
  all.insert(all.end(), exact.begin(), exact.end());
  for (const Child& child : exact) {
    children->longest = std::max(children->longest, child.name.size);
  }
  if (exact.size() <= kCompareUpTo) return;

  std::vector<Slot>& slots = nodes_->slots;
  const std::size_t size = std::bit_ceil(2 * exact.size());
  children->slots = static_cast<std::uint32_t>(slots.size());
  children->mask = static_cast<std::uint32_t>(size - 1);
  slots.resize(slots.size() + size, Slot{0, kNoIndex});
  for (std::uint32_t i = 0; i < children->exact_count; ++i) {
    const std::uint32_t hash = name_hash(nodes_->name(exact[i]));
    std::uint32_t at = hash & children->mask;
    while (slots[children->slots + at].child != kNoIndex) {
      at = (at + 1) & children->mask;
    }
    slots[children->slots + at] = {hash, children->exact + i};
  }
}

void Compiler::store_networks(const std::vector<Child>& networks,
                              const std::vector<Network>& addresses,
                              Children* children) {
  std::vector<NetworkChild> sorted;
  for (std::size_t i = 0; i < networks.size(); ++i) {
    sorted.push_back({addresses[i], next_child()});
    nodes_->children.push_back(networks[i]);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const NetworkChild& a, const NetworkChild& b) {
              if (a.network.prefix != b.network.prefix) {
                return a.network.prefix > b.network.prefix;
              }
              return a.network < b.network;
            });
  children->groups = static_cast<std::uint32_t>(nodes_->groups.size());
  for (const NetworkChild& child : sorted) {
    const bool v6 = child.network.address.v6;
    const auto prefix = static_cast<std::uint8_t>(child.network.prefix);
    const bool joins = children->group_count > 0 &&
                       nodes_->groups.back().v6 == v6 &&
                       nodes_->groups.back().prefix == prefix;
    if (!joins) {
      const auto first = static_cast<std::uint32_t>(nodes_->networks.size());
      nodes_->groups.push_back({v6, prefix, first, 0});
      ++children->group_count;
    }
    ++nodes_->groups.back().count;
    nodes_->networks.push_back(child);
  }
}

void Compiler::store_globs(std::vector<Child> globs, Children* children) {
  std::stable_sort(
      globs.begin(), globs.end(), [this](const Child& a, const Child& b) {
        return literal_size(nodes_->name(a)) > literal_size(nodes_->name(b));
      });
  children->globs = next_child();
  children->glob_count = static_cast<std::uint32_t>(globs.size());
  nodes_->children.insert(nodes_->children.end(), globs.begin(), globs.end());
}

}  // namespace

void compile(std::span<const std::vector<Draft>> texts, Nodes* nodes,
             Problems* problems) {
  Compiler(nodes, problems).run(texts);
}

}  // namespace limitree
