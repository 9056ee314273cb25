// Descriptors::describe(): all rules as text for people.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "descriptors/descriptors.hpp"
#include "text/problems.hpp"
#include "text/text_table.hpp"

namespace limitree {

namespace {

void add_word(const char* word, std::string* words) {
  if (!words->empty()) *words += ", ";
  *words += word;
}

// "all_or_nothing, parents"
std::string flags_of(const Domain& domain) {
  std::string words;
  if (domain.all_or_nothing) add_word("all_or_nothing", &words);
  if (domain.parents) add_word("parents", &words);
  return words;
}

// What is special about the rule of a descriptor, and about itself.
std::string remarks(const DescriptorNode& node, const Rule* rule) {
  std::string words = rule == nullptr ? "" : rule_in_words(*rule);
  if (node.share_threshold) add_word("one bucket for all that match", &words);
  if (node.value_to_metric) add_word("value_to_metric", &words);
  return words;
}

}  // namespace

std::string Descriptors::described(const DescriptorNode& node) const {
  const std::string_view composite = name(node);
  const std::string_view key = composite.substr(0, node.key_size);
  const bool any_value = key.size() == composite.size();
  return entry_text(
      {key, any_value ? std::string_view() : composite.substr(key.size() + 1)});
}

std::string Descriptors::describe() const {
  // Files may add to domains of files before them, so children are not always
  // next to each other.
  std::vector<std::uint32_t> first(nodes_.size(), kNoNode);
  std::vector<std::uint32_t> next(nodes_.size(), kNoNode);
  for (auto i = static_cast<std::uint32_t>(nodes_.size()); i-- > 0;) {
    if (nodes_[i].parent == kNoNode) continue;
    next[i] = std::exchange(first[nodes_[i].parent], i);
  }
  TextTable table;
  for (const Domain& domain : domains_) {
    table.add(0, printable(domain.name), flags_of(domain));
    std::vector<std::uint32_t> open = {first[domain.node]};
    while (!open.empty()) {
      const std::uint32_t index = open.back();
      if (index == kNoNode) {
        open.pop_back();
        continue;
      }
      const DescriptorNode& node = nodes_[index];
      const Rule* const rule =
          node.rule == kNoNode ? nullptr : &rules_[node.rule];
      table.add(open.size(), described(node), remarks(node, rule));
      open.back() = next[index];
      open.push_back(first[index]);
    }
  }
  return table.text();
}

}  // namespace limitree
