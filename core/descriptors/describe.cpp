// Descriptors::describe() and Descriptors::explain(): texts for people.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/key.hpp"
#include "descriptors/descriptors.hpp"
#include "descriptors/request.hpp"
#include "text/problems.hpp"
#include "text/text_table.hpp"

namespace limitree {

namespace {

using How = DescriptorStep::How;

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

// What is special about a descriptor and its rule.
std::string remarks(const DescriptorNode& node, const Rule* rule) {
  std::string words = rule == nullptr ? "" : rule_in_words(*rule);
  if (node.share_threshold) add_word("one bucket for all that match", &words);
  if (node.value_to_metric) add_word("value_to_metric", &words);
  if (node.value_to_hold) add_word("value_to_hold", &words);
  return words;
}

// A line for each bucket, or why there is none.
std::string explain_levels(const MatchedRequest& request) {
  const MatchedDescriptor& matched = request.descriptors().front();
  switch (matched.match) {
    case Match::kUnmatched:
      return "  none: no rule counts\n";
    case Match::kUnlimited:
      return "  none: the rule says unlimited\n";
    case Match::kReplaced:
      return "  none: the rule is replaced\n";
    case Match::kLimited:
      break;
  }
  Plan plan(Operation::kPeek);
  request.add_levels(&plan);
  TextTable table;
  std::string room;
  for (std::size_t i = 0; i < plan.levels.size(); ++i) {
    const Rule& rule = request.rule(0, i);
    table.add(1, legible(rule.limit.policy.view()), rule_in_words(rule));
    table.add(2, "bucket", bucket_name(plan, plan.levels[i]));
    table.add(2, "metric", legible(request.metric_key(0, i, &room)));
  }
  return table.text();
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

// Why an entry led to a descriptor.
std::string Descriptors::reason(const DescriptorStep& step,
                                const Entry& entry) const {
  const DescriptorNode& node = nodes_[step.node];
  std::string why;
  switch (step.how) {
    case How::kExact:
      why = "exact";
      break;
    case How::kWildcard:
      why = "the first pattern that matches, " + described(node);
      break;
    case How::kDefault:
      why = "any value of " + printable(entry.key) +
            ": no descriptor has this one, no pattern matches";
      break;
  }
  if (node.value_to_hold) {
    why += ", it names what is held";
  } else if (!shared_pattern(step, entry.key).empty()) {
    why += ", one bucket for all that match";
  }
  if (node.rule == kNoNode) why += ", no rate_limit here";
  return why;
}

// A line for each entry, up to the one that leads nowhere.
std::string Descriptors::explain_steps(
    const Domain& domain, Entries entries,
    std::span<const DescriptorStep> steps) const {
  TextTable table;
  const DescriptorNode* at = &nodes_[domain.node];
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i == steps.size()) {
      table.add(1, entry_text(entries[i]),
                "nothing below " + legible(place(*at)) +
                    " matches: the walk ends here" +
                    (domain.parents ? "" : ", without a rule"));
      break;
    }
    std::string why = reason(steps[i], entries[i]);
    at = &nodes_[steps[i].node];
    const bool passed = i + 1 < entries.size() && !domain.parents;
    if (passed && at->rule != kNoNode) {
      why += ", its rule does not count: entries follow";
    }
    why += " (" + printable(files_[at->file]) + ':' +
           std::to_string(at->mark.line) + ')';
    table.add(1, entry_text(entries[i]), std::move(why));
  }
  return table.text();
}

std::string Descriptors::explain(std::string_view name, Entries entries) const {
  const Domain* const domain = find(name);
  if (domain == nullptr) {
    return "descriptor\n  there is no domain " + quote(name) +
           ": everything is allowed\n";
  }
  DescriptorSteps steps;
  walk(*domain, entries, &steps);
  const std::array<RequestDescriptor, 1> descriptors = {{{entries}}};
  const DescriptorRequest request{name, descriptors};
  MatchedRequest matched;
  // Fails only for limits that the request states, and for very many levels.
  const Status status = matched.match(*this, request);
  return "descriptor\n" +
         explain_steps(*domain, entries, {steps.data(), steps.size()}) +
         "limits\n" +
         (status.ok() ? explain_levels(matched)
                      : "  " + status.message() + '\n');
}

}  // namespace limitree
