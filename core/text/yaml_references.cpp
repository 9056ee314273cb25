#include "text/yaml_references.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace limitree {

namespace {

using Kind = YamlNode::Kind;

constexpr std::string_view kCore = "tag:yaml.org,2002:";

// Moves the nodes of a subtree by `by` places.
void move_ends(std::size_t first, std::ptrdiff_t by,
               std::vector<YamlNode>* nodes) {
  for (std::size_t i = first; i < nodes->size(); ++i) {
    YamlNode& node = (*nodes)[i];
    node.end = static_cast<std::uint32_t>(node.end + by);
  }
}

// How deep collections are nested in `nodes`, which is one collection.
std::size_t depth_of(const std::vector<YamlNode>& nodes) {
  std::size_t deepest = 0;
  std::vector<std::uint32_t> open;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    while (!open.empty() && open.back() <= i) open.pop_back();
    if (nodes[i].kind == Kind::kScalar) continue;
    open.push_back(nodes[i].end);
    deepest = std::max(deepest, open.size());
  }
  return deepest;
}

// How many values `nodes` count as: readers may copy texts.
std::size_t weight_of(const std::vector<YamlNode>& nodes) {
  std::size_t weight = nodes.size();
  for (const YamlNode& node : nodes) {
    if (node.kind != Kind::kScalar) continue;
    weight += node.size / YamlReferences::kTextPerValue;
  }
  return weight;
}

}  // namespace

void YamlReferences::begin(std::string_view anchor, std::size_t node) {
  ++written_;
  if (anchor.empty()) return;
  // An anchor names the node that began last, even inside another node of that
  // anchor.
  std::erase_if(open_, [&](const auto& one) { return one.second == anchor; });
  named_[std::string(anchor)].clear();
  open_[node] = anchor;
}

bool YamlReferences::end(std::size_t node) {
  if (has_merge(node)) merge(node);
  const auto anchor = open_.find(node);
  if (anchor == open_.end()) return true;
  std::vector<YamlNode>& named = named_[anchor->second];
  copy(node, &named);
  open_.erase(anchor);
  return take_room(named.size(), nodes_[node].mark);
}

// Counts values that are not written.
bool YamlReferences::take_room(std::size_t count, Mark mark) {
  const std::size_t most =
      std::min(kMaxYamlNodes, kFreeCopies + kCopiesPerNode * written_);
  copied_ += count;
  if (copied_ <= most) return true;
  problems_.add(
      mark, "aliases stand for more than " + std::to_string(most) + " values");
  return false;
}

bool YamlReferences::append(std::string_view alias, Mark mark,
                            std::size_t depth) {
  ++written_;
  const auto known = named_.find(alias);
  if (known == named_.end() || known->second.empty()) {
    const std::string name(legible(alias));
    problems_.add(mark, known == named_.end()
                            ? "unknown anchor '" + name +
                                  "' referenced: a name with * must be quoted"
                            : "anchor '" + name + "' value contains itself");
    const auto end = static_cast<std::uint32_t>(nodes_.size() + 1);
    nodes_.push_back({Kind::kRefused, true, mark, 0, 0, end});
    return true;
  }
  const std::vector<YamlNode>& named = known->second;
  if (depth + depth_of(named) > kMaxYamlDepth) {
    problems_.add(mark, "nested deeper than " + std::to_string(kMaxYamlDepth));
    return false;
  }
  if (!take_room(weight_of(named), mark)) return false;
  const std::size_t first = nodes_.size();
  nodes_.insert(nodes_.end(), named.begin(), named.end());
  move_ends(first, static_cast<std::ptrdiff_t>(first), &nodes_);
  return true;
}

bool YamlReferences::makes_text(std::string_view tag, Mark mark) {
  static constexpr std::array<std::string_view, 4> kAsItLooks = {
      "int", "float", "bool", "null"};
  if (!tag.starts_with(kCore)) return !tag.empty();
  const std::string_view name = tag.substr(kCore.size());
  if (name == "str") return true;
  if (std::ranges::find(kAsItLooks, name) == kAsItLooks.end()) {
    problems_.add(
        mark, "a value cannot have the tag " + quote("!!" + std::string(name)));
  }
  return false;
}

void YamlReferences::check_collection(std::string_view tag, Mark mark) {
  if (!tag.starts_with(kCore)) return;
  const std::string_view name = tag.substr(kCore.size());
  if (name == "map" || name == "seq") return;
  problems_.add(mark, "a list or mapping cannot have the tag " +
                          quote("!!" + std::string(name)));
}

bool YamlReferences::is_merge(std::size_t key) const {
  const YamlNode& node = nodes_[key];
  return node.kind == Kind::kScalar && node.plain &&
         std::string_view(text_).substr(node.text, node.size) == "<<";
}

bool YamlReferences::has_merge(std::size_t mapping) const {
  if (nodes_[mapping].kind != Kind::kMapping) return false;
  for (std::size_t key = mapping + 1; key < nodes_.size();) {
    if (is_merge(key)) return true;
    key = nodes_[nodes_[key].end].end;
  }
  return false;
}

// Adds a key to the items.  A key that is stated twice stays twice: a mistake.
void YamlReferences::put(std::size_t key, std::size_t value, bool stated,
                         Items* items) {
  const YamlNode& node = nodes_[key];
  const std::string_view text =
      std::string_view(text_).substr(node.text, node.size);
  const auto [place, added] = found_.emplace(text, items->size());
  if (added || ((*items)[place->second].stated && stated)) {
    items->push_back({key, {value}, stated});
    return;
  }
  Item& item = (*items)[place->second];
  const bool joins = nodes_[value].kind == Kind::kMapping &&
                     nodes_[item.values.back()].kind == Kind::kMapping;
  if (!joins) item.values.clear();
  item.values.push_back(value);
  item.stated |= stated;
}

// Adds the keys of a mapping that is merged.
void YamlReferences::put_all(std::size_t mapping, Items* items) {
  for (std::size_t key = mapping + 1; key < nodes_[mapping].end;) {
    const std::size_t value = nodes_[key].end;
    if (nodes_[key].kind == Kind::kScalar) put(key, value, false, items);
    key = nodes_[value].end;
  }
}

// Of several mappings the first one counts.
void YamlReferences::put_merged(std::size_t value, Items* items) {
  const YamlNode& from = nodes_[value];
  if (from.kind == Kind::kRefused) return;
  if (from.kind == Kind::kMapping) return put_all(value, items);
  std::vector<std::size_t> mappings;
  bool wrong = from.kind != Kind::kSequence;
  for (std::size_t i = value + 1; i < from.end; i = nodes_[i].end) {
    wrong |=
        nodes_[i].kind == Kind::kScalar || nodes_[i].kind == Kind::kSequence;
    mappings.push_back(i);
  }
  if (wrong) {
    problems_.add(from.mark,
                  "map merge requires map or sequence of maps as the value");
    return;
  }
  std::ranges::reverse(mappings);
  for (const std::size_t mapping : mappings) put_all(mapping, items);
}

YamlReferences::Items YamlReferences::items_of(std::size_t mapping) {
  Items items;
  found_.clear();
  for (std::size_t key = mapping + 1; key < nodes_.size();) {
    const std::size_t value = nodes_[key].end;
    if (is_merge(key)) {
      put_merged(value, &items);
    } else {
      put(key, value, true, &items);
    }
    key = nodes_[value].end;
  }
  return items;
}

// Replaces the content of the mapping, the last node, with the merged content.
void YamlReferences::merge(std::size_t mapping) {
  const Items items = items_of(mapping);
  std::vector<YamlNode> inside;
  for (const Item& item : items) copy_item(item, &inside);
  move_ends(0, static_cast<std::ptrdiff_t>(mapping + 1), &inside);
  nodes_.resize(mapping + 1);
  nodes_.insert(nodes_.end(), inside.begin(), inside.end());
  nodes_[mapping].size = static_cast<std::uint32_t>(2 * items.size());
  nodes_[mapping].end = static_cast<std::uint32_t>(nodes_.size());
}

void YamlReferences::copy(std::size_t node, std::vector<YamlNode>* to) const {
  const std::size_t first = to->size();
  const auto at = nodes_.begin();
  to->insert(to->end(), at + static_cast<std::ptrdiff_t>(node),
             at + static_cast<std::ptrdiff_t>(nodes_[node].end));
  move_ends(
      first,
      static_cast<std::ptrdiff_t>(first) - static_cast<std::ptrdiff_t>(node),
      to);
}

// Joins mappings, but not those inside them.
void YamlReferences::copy_item(const Item& item,
                               std::vector<YamlNode>* to) const {
  copy(item.key, to);
  if (item.values.size() == 1) return copy(item.values.front(), to);
  const std::size_t mapping = to->size();
  to->push_back(nodes_[item.values.back()]);
  std::vector<std::pair<std::size_t, std::size_t>> entries;
  std::map<std::string_view, std::size_t> known;
  for (const std::size_t value : item.values) {
    std::size_t key = value + 1;
    for (; key < nodes_[value].end; key = nodes_[nodes_[key].end].end) {
      const YamlNode& node = nodes_[key];
      const auto [place, added] = known.emplace(
          std::string_view(text_).substr(node.text, node.size), entries.size());
      if (added) {
        entries.emplace_back(key, node.end);
      } else {
        entries[place->second].second = node.end;
      }
    }
  }
  for (const auto& [key, value] : entries) {
    copy(key, to);
    copy(value, to);
  }
  (*to)[mapping].size = static_cast<std::uint32_t>(2 * entries.size());
  (*to)[mapping].end = static_cast<std::uint32_t>(to->size());
}

}  // namespace limitree
