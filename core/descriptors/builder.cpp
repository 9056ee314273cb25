#include "descriptors/builder.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

namespace limitree {

void DescriptorBuilder::begin_file(std::string_view name, bool merges) {
  merges_ = merges;
  problems_.set_text(made_.files_.size());
  made_.files_.emplace_back(name);
}

std::uint32_t DescriptorBuilder::add_node(std::uint32_t parent,
                                          const Value& key,
                                          std::string_view value) {
  DescriptorNode node;
  node.parent = parent;
  node.name = made_.text_.size();
  node.key_size = static_cast<std::uint32_t>(key.text.size());
  node.file = static_cast<std::uint32_t>(made_.files_.size() - 1);
  node.mark = key.mark;
  made_.text_ += key.text;
  if (!value.empty()) {
    made_.text_ += '_';
    made_.text_ += value;
  }
  // A YAML text has at most kMaxYamlSize bytes.
  node.name_size = static_cast<std::uint32_t>(made_.text_.size() - node.name);
  made_.nodes_.push_back(node);
  const std::size_t above = parent == kNoNode ? 0 : place_sizes_[parent] + 1;
  place_sizes_.push_back(above + node.name_size);
  places_ += place_sizes_.back();
  return static_cast<std::uint32_t>(made_.nodes_.size() - 1);
}

std::uint32_t DescriptorBuilder::add_domain(const DomainDraft& draft) {
  const std::string_view name = draft.name.text;
  const auto known =
      name.empty() ? made_.domains_.end()
                   : std::ranges::find(made_.domains_, name, &Domain::name);
  if (known != made_.domains_.end() && merges_) {
    join(draft, &stated_[made_.nodes_[known->node].rule]);
    return known->node;
  }
  if (known != made_.domains_.end()) {
    // Its descriptors are still read, to report their mistakes.
    problems_.add(draft.name.mark,
                  "duplicate domain '" + legible(name) + "' in config file");
  }
  const std::uint32_t node = add_node(kNoNode, draft.name, "");
  made_.nodes_[node].rule = static_cast<std::uint32_t>(made_.domains_.size());
  made_.domains_.push_back({std::string(name), node});
  stated_.push_back(draft);
  return node;
}

// Joins what a file says about a domain with what earlier files say.
void DescriptorBuilder::join(const DomainDraft& draft, DomainDraft* all) {
  const auto join_flag = [&](const char* key,
                             std::optional<bool> DomainDraft::*flag) {
    if (!(all->*flag)) all->*flag = draft.*flag;
    if (!(draft.*flag) || draft.*flag == all->*flag) return;
    problems_.add(draft.name.mark, std::string(key) +
                                       " differs from that of another file of "
                                       "domain '" +
                                       legible(draft.name.text) + "'");
  };
  join_flag("all_or_nothing", &DomainDraft::all_or_nothing);
  join_flag("parents", &DomainDraft::parents);
}

// Whether there is room for one more descriptor; reports the first that has
// none.
bool DescriptorBuilder::has_room(std::uint32_t parent,
                                 const DescriptorDraft& draft) {
  const std::size_t size = place_sizes_[parent] + draft.key.text.size() +
                           draft.value.text.size() + 2;
  const std::size_t count = made_.nodes_.size() - made_.domains_.size();
  if (count < kMaxDescriptors && size <= kMaxPlaces - places_) return true;
  if (std::exchange(full_, true)) return false;
  problems_.add(
      draft.key.mark,
      count < kMaxDescriptors
          ? "the names of all descriptors, with those above them, "
            "have more than " +
                std::to_string(kMaxPlaces) + " bytes"
          : "more than " + std::to_string(kMaxDescriptors) + " descriptors");
  return false;
}

std::optional<std::uint32_t> DescriptorBuilder::add(std::uint32_t parent,
                                                    DescriptorDraft draft) {
  if (!has_room(parent, draft)) return std::nullopt;
  const std::uint32_t index = add_node(parent, draft.key, draft.value.text);
  DescriptorNode& node = made_.nodes_[index];
  node.share_threshold = draft.share_threshold;
  node.value_to_metric = draft.value_to_metric;
  node.value_to_hold = draft.value_to_hold;
  if (draft.rule) {
    node.rule = static_cast<std::uint32_t>(made_.rules_.size());
    made_.rules_.push_back(std::move(*draft.rule));
  }
  return index;
}

// Adds the node to the table, or reports that its name is there.
void DescriptorBuilder::add_name(std::uint32_t index) {
  const DescriptorNode& node = made_.nodes_[index];
  const std::string_view name = made_.name(node);
  if (node.key_size == 0) return;  // the mistake has been reported
  if (made_.find(node.parent, name) != kNoNode) {
    if (node.parent == kNoNode) return;  // reported when it was added
    problems_.set_text(node.file);
    problems_.add(node.mark, "duplicate descriptor composite key '" +
                                 legible(made_.place(node)) + "'");
    return;
  }
  const std::uint32_t hash = Descriptors::hash(node.parent, name);
  const std::size_t mask = made_.slots_.size() - 1;
  std::size_t i = hash & mask;
  while (made_.slots_[i].node != kNoNode) i = (i + 1) & mask;
  made_.slots_[i] = {hash, index};
}

// Lists the patterns below each node, in the order in which they are declared.
void DescriptorBuilder::list_patterns() {
  std::vector<DescriptorNode>& nodes = made_.nodes_;
  std::vector<std::uint32_t> patterns;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const bool pattern = made_.name(nodes[i]).find('*') != std::string::npos;
    if (pattern && nodes[i].parent != kNoNode) patterns.push_back(i);
  }
  std::ranges::stable_sort(patterns, {}, [&](std::uint32_t pattern) {
    return nodes[pattern].parent;
  });
  for (std::uint32_t i = 0; i < patterns.size(); ++i) {
    DescriptorNode& parent = nodes[nodes[patterns[i]].parent];
    if (parent.pattern_count++ == 0) parent.first_pattern = i;
  }
  made_.patterns_ = std::move(patterns);
}

// What is held has one name.  `above`: a descriptor above `node` has
// value_to_hold; `named`: that one or the node itself.
void DescriptorBuilder::check_hold(const DescriptorNode& node, bool above,
                                   bool named) {
  const bool holds =
      node.rule != kNoNode && made_.rules_[node.rule].limit.holds();
  made_.holds_ |= holds;
  const char* wrong = nullptr;
  if (above && node.value_to_hold) {
    wrong = "value_to_hold stands above already";
  } else if (holds && !named) {
    wrong =
        "a limit that holds needs value_to_hold, here or above: a value that "
        "tells requests apart";
  }
  if (wrong == nullptr) return;
  problems_.set_text(node.file);
  problems_.add(node.mark, wrong);
}

// Sets what rules get from the nodes above them.
void DescriptorBuilder::finish_rules() {
  const std::vector<DescriptorNode>& nodes = made_.nodes_;
  std::vector<const Domain*> domain_of(nodes.size());
  std::vector<bool> varies(nodes.size());  // the metric key, by some node
  std::vector<bool> names(nodes.size());   // what is held
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const DescriptorNode& node = nodes[i];
    if (node.parent == kNoNode) {
      domain_of[i] = &made_.domains_[node.rule];
      continue;
    }
    domain_of[i] = domain_of[node.parent];
    const std::string_view name = made_.name(node);
    // A pattern in the key matches several keys.  A last "_" is the composite
    // name of an empty value, which metric keys leave out.
    varies[i] = varies[node.parent] || node.value_to_metric ||
                name.substr(0, node.key_size).find('*') != name.npos ||
                name.ends_with('_');
    names[i] = names[node.parent] || node.value_to_hold;
    check_hold(node, names[node.parent], names[i]);
    if (node.rule == kNoNode) continue;
    Rule& rule = made_.rules_[node.rule];
    rule.metric_varies = varies[i] || rule.detailed_metric;
    rule.limit.index = node.rule;
    rule.limit.policy = made_.place(node);
    rule.limit.charge = charge_of(*domain_of[i], rule.limit);
  }
}

Descriptors DescriptorBuilder::finish() {
  for (const DescriptorNode& node : made_.nodes_) {
    made_.longest_ = std::max<std::size_t>(made_.longest_, node.name_size);
  }
  if (!made_.nodes_.empty()) {
    made_.slots_.resize(std::bit_ceil(2 * made_.nodes_.size()));
  }
  for (std::uint32_t i = 0; i < made_.nodes_.size(); ++i) add_name(i);
  for (std::size_t i = 0; i < stated_.size(); ++i) {
    made_.domains_[i].all_or_nothing =
        stated_[i].all_or_nothing.value_or(false);
    made_.domains_[i].parents = stated_[i].parents.value_or(false);
  }
  list_patterns();
  finish_rules();
  return std::move(made_);
}

}  // namespace limitree
