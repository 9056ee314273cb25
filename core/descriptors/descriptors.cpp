#include "descriptors/descriptors.hpp"

#include <functional>

#include "text/glob.hpp"

namespace limitree {

namespace {

using How = DescriptorStep::How;

// Sets *room to the composite name of `entry`.
std::string_view compose(const Entry& entry, InlineVector<char, 256>* room) {
  room->resize(entry.key.size() + 1 + entry.value.size());
  char* const key = room->data();
  entry.key.copy(key, entry.key.size());
  key[entry.key.size()] = '_';
  entry.value.copy(key + entry.key.size() + 1, entry.value.size());
  return {room->data(), room->size()};
}

// `pattern`, a composite name, without the key of an entry if that is its own.
std::string_view without_key(std::string_view pattern, std::string_view key) {
  const bool own_key = pattern.size() > key.size() &&
                       pattern[key.size()] == '_' && pattern.starts_with(key);
  return own_key ? pattern.substr(key.size() + 1) : pattern;
}

}  // namespace

void append_entry(const Entry& entry, std::string* out) {
  *out += entry.key;
  if (entry.value.empty()) return;
  *out += '_';
  *out += entry.value;
}

std::string entry_text(const Entry& entry) {
  std::string text = printable(entry.key);
  if (!entry.value.empty()) text += '=' + printable(entry.value);
  return text;
}

Charge charge_of(const Domain& domain, const Limit& limit) {
  if (domain.all_or_nothing) return Charge::kAllOrNothing;
  return can_charge(Charge::kEveryHit, limit.algorithm) && !limit.holds() &&
                 !limit.is_leased()
             ? Charge::kEveryHit
             : Charge::kIndependent;
}

std::string Descriptors::place(const DescriptorNode& node) const {
  std::string place;
  if (node.parent != kNoNode) place = this->place(nodes_[node.parent]) + '.';
  return place.append(name(node));
}

std::uint32_t Descriptors::hash(std::uint32_t parent, std::string_view name) {
  constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15;  // 2^64 / golden
  const std::uint64_t named = std::hash<std::string_view>()(name);
  return static_cast<std::uint32_t>(((named ^ parent) * kMultiplier) >> 32);
}

std::uint32_t Descriptors::find(std::uint32_t parent,
                                std::string_view name) const {
  if (name.size() > longest_ || slots_.empty()) return kNoNode;
  const std::uint32_t hash = this->hash(parent, name);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
    const Slot& slot = slots_[i];
    if (slot.node == kNoNode) return kNoNode;
    if (slot.hash != hash) continue;
    const DescriptorNode& node = nodes_[slot.node];
    if (node.parent == parent && this->name(node) == name) return slot.node;
  }
}

const Domain* Descriptors::find(std::string_view domain) const {
  const std::uint32_t node = find(kNoNode, domain);
  return node == kNoNode ? nullptr : &domains_[nodes_[node].rule];
}

DescriptorStep Descriptors::step(std::uint32_t parent, const Entry& entry,
                                 InlineVector<char, 256>* room) const {
  const DescriptorNode& from = nodes_[parent];
  // A name that is longer than all others matches patterns only.
  const std::size_t size = entry.key.size() + 1 + entry.value.size();
  if (size <= longest_ || from.pattern_count > 0) {
    const std::string_view composite = compose(entry, room);
    const std::uint32_t exact = find(parent, composite);
    if (exact != kNoNode) return {exact, How::kExact};
    for (std::uint32_t i = 0; i < from.pattern_count; ++i) {
      const std::uint32_t pattern = patterns_[from.first_pattern + i];
      if (glob_matches(name(nodes_[pattern]), composite)) {
        return {pattern, How::kWildcard};
      }
    }
  }
  return {find(parent, entry.key), How::kDefault};
}

void Descriptors::walk(const Domain& domain, Entries entries,
                       DescriptorSteps* steps) const {
  InlineVector<char, 256> room;
  std::uint32_t node = domain.node;
  for (const Entry& entry : entries) {
    const DescriptorStep step = this->step(node, entry, &room);
    if (step.node == kNoNode) return;
    steps->push_back(step);
    node = step.node;
  }
}

Charge Descriptors::charge_of(const Domain& domain, const Limit& limit) const {
  const Charge charge = limitree::charge_of(domain, limit);
  if (!stops_) return charge;
  return counts_denied(charge) ? Charge::kAllOrDenying : Charge::kAllOrNothing;
}

Descriptors Descriptors::stopping() const {
  Descriptors copy = *this;
  copy.stops_ = true;
  for (const DescriptorNode& node : copy.nodes_) {
    if (node.parent == kNoNode || node.rule == kNoNode) continue;
    std::uint32_t top = node.parent;
    while (nodes_[top].parent != kNoNode) top = nodes_[top].parent;
    Limit& limit = copy.rules_[node.rule].limit;
    limit.charge = copy.charge_of(domains_[nodes_[top].rule], limit);
  }
  return copy;
}

std::string_view Descriptors::shared_pattern(const DescriptorStep& step,
                                             std::string_view key) const {
  const DescriptorNode& node = nodes_[step.node];
  if (node.value_to_hold) return "*";
  if (!node.share_threshold || step.how == How::kDefault) return {};
  return without_key(name(node), key);
}

// Appends what one level adds to the name of a rule that is not detailed.
void Descriptors::append_metric(const Entry& entry, const DescriptorStep& step,
                                std::string* out) const {
  const DescriptorNode& node = nodes_[step.node];
  switch (step.how) {
    case How::kExact:
      append_entry(entry, out);
      return;
    case How::kWildcard:
      if (node.value_to_metric && !node.share_threshold) {
        append_entry(entry, out);
        return;
      }
      *out += entry.key;
      *out += '_';
      *out += without_key(name(node), entry.key);
      return;
    case How::kDefault:
      if (node.value_to_metric) {
        append_entry(entry, out);
      } else {
        *out += entry.key;
      }
      return;
  }
}

std::string_view Descriptors::metric_key(const Domain& domain, Entries entries,
                                         std::span<const DescriptorStep> steps,
                                         std::string* room) const {
  const Rule& rule = *rule_at(steps.back());
  if (!rule.metric_varies) return rule.limit.policy.view();
  bool shares = false;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    shares |= !shared_pattern(steps[i], entries[i].key).empty();
  }
  *room = domain.name;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Entry& entry = entries[i];
    *room += '.';
    if (!rule.detailed_metric) {
      append_metric(entry, steps[i], room);
      continue;
    }
    const std::string_view pattern = shared_pattern(steps[i], entry.key);
    *room += entry.key;
    if (!shares || !pattern.empty() || !entry.value.empty()) *room += '_';
    *room += pattern.empty() ? entry.value : pattern;
  }
  return *room;
}

}  // namespace limitree
