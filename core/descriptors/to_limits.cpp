#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "base/lease.hpp"
#include "base/limit.hpp"
#include "descriptors/descriptors.hpp"
#include "descriptors/rule.hpp"
#include "text/glob.hpp"
#include "text/number.hpp"
#include "text/problems.hpp"
#include "text/yaml_text.hpp"

namespace limitree {

namespace {

// Each level of descriptors takes four levels of YAML, which allows 64.
constexpr std::size_t kMaxDepth = 14;

// Whether limits.yaml takes a name for a network, such as 10.0.0.0/8, which it
// allows only among addresses.
bool looks_like_network(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789";
  const std::size_t slash = name.rfind('/');
  return slash != name.npos && slash + 1 < name.size() &&
         name.find_first_not_of(kDigits, slash + 1) == name.npos &&
         name.substr(0, slash).find_first_of(".:") != name.npos;
}

// "{algorithm: fixed_window, count: 60, period: 1m}"
std::string limit_text(const Rule& rule) {
  const Limit& limit = rule.limit;
  std::string text = "{algorithm: ";
  text += traits_of(limit.algorithm).rule;
  text += ", count: " + std::to_string(limit.count);
  text += ", period: " + format_duration(limit.period);
  const bool shrinks = limit.is_leased() && limit.is_plain();
  const std::int64_t capacity =
      shrinks ? stated_capacity(limit.rate, limit.lease) : limit.rate.capacity;
  if (capacity != limit.count) {
    text += ", burst: " + std::to_string(capacity);
  }
  if (limit.is_leased()) {
    const std::string time = format_duration(limit.lease);
    text += ", charge: all_or_nothing, lease: " +
            (limit.denies_ahead ? "{time: " + time + ", ahead: true}" : time);
  }
  if (!limit.is_plain() && limit.rules->overrun > 0) {
    text += ", overrun: {percent: " + std::to_string(limit.rules->overrun);
    text += limit.rules->overrun_when_idle ? ", when: idle}" : "}";
  }
  // More than a full bucket holds.
  if (rule.denies_all()) {
    text += ", cost: " + std::to_string(limit.rate.capacity + 1);
  }
  if (rule.shadow_mode) text += ", mode: shadow";
  return text + '}';
}

}  // namespace

// Writes one node of YAML after the other.
class LimitsWriter {
 public:
  explicit LimitsWriter(const Descriptors& from);

  std::string write();
  std::vector<std::string> lost() const;

 private:
  // The descriptors of one key that are beside each other.
  struct Group {
    std::string_view key;
    std::vector<std::uint32_t> exact;
    std::vector<std::uint32_t> patterns;  // with other bytes than *
    std::uint32_t any = kNoNode;          // takes what the others leave
  };

  const DescriptorNode& node(std::uint32_t i) const { return from_.nodes_[i]; }
  // What follows the key of a composite name; empty: any value.
  std::string_view value(std::uint32_t i) const;
  const Rule* rule(std::uint32_t i) const;
  bool can_be_root(const Domain& domain);
  std::vector<Group> groups(std::uint32_t parent);
  void add(std::uint32_t i, Group* group);
  bool can_follow(std::uint32_t i, const Group& group);
  void write_below(std::uint32_t parent, std::size_t depth);
  void write_group(const Group& group, std::size_t depth);
  void write_node(std::uint32_t i, const Group& group, std::size_t depth);
  std::string limits(std::uint32_t i);
  void begin_line(std::size_t indent, std::string_view name);
  void lose(std::uint32_t i, std::string what);
  void lose_below(std::uint32_t i, const char* why);

  const Descriptors& from_;
  const Domain* domain_ = nullptr;
  std::vector<std::uint32_t> first_;  // child of each node ...
  std::vector<std::uint32_t> next_;   // ... and the one after each
  std::string yaml_;
  Problems lost_;
};

LimitsWriter::LimitsWriter(const Descriptors& from)
    : from_(from),
      first_(from.nodes_.size(), kNoNode),
      next_(from.nodes_.size(), kNoNode) {
  for (auto i = static_cast<std::uint32_t>(from.nodes_.size()); i-- > 0;) {
    if (node(i).parent == kNoNode) continue;
    next_[i] = std::exchange(first_[node(i).parent], i);
  }
}

std::string_view LimitsWriter::value(std::uint32_t i) const {
  const std::string_view name = from_.name(node(i));
  const std::size_t key = node(i).key_size;
  return name.size() == key ? std::string_view() : name.substr(key + 1);
}

const Rule* LimitsWriter::rule(std::uint32_t i) const {
  return node(i).rule == kNoNode ? nullptr : &from_.rules_[node(i).rule];
}

void LimitsWriter::lose(std::uint32_t i, std::string what) {
  lost_.set_text(node(i).file);
  lost_.add(node(i).mark, std::move(what));
}

// For a descriptor that is left out with all that is below it.
void LimitsWriter::lose_below(std::uint32_t i, const char* why) {
  lose(i, why);
  for (std::uint32_t child = first_[i]; child != kNoNode;
       child = next_[child]) {
    lose_below(child, "what is above it has no equivalent");
  }
}

// Whether limits.yaml tries the pattern `i` after those before it, as here.
// Else its descriptor is left out.
bool LimitsWriter::can_follow(std::uint32_t i, const Group& group) {
  const std::string_view glob = value(i);
  bool overlaps = false;
  for (const std::uint32_t before : group.patterns) {
    const std::string_view other = value(before);
    if (literal_size(other) >= literal_size(glob)) continue;
    if (glob_matches(other, glob)) return false;  // it is never reached
    overlaps |= globs_overlap(other, glob);
  }
  if (overlaps) {
    lose_below(i,
               "this pattern overlaps a shorter one before it, and "
               "limits.yaml tries longer ones first");
  }
  return !overlaps;
}

void LimitsWriter::add(std::uint32_t i, Group* group) {
  const std::string_view text = value(i);
  const bool is_pattern = text.find('*') != text.npos;
  if (literal_size(text) == 0) {
    // The key alone comes after all patterns; "*" keeps its place among them.
    if (group->any == kNoNode || (is_pattern && value(group->any).empty())) {
      group->any = i;
    }
  } else if (looks_like_network(text)) {
    lose_below(i, "limits.yaml takes this value for a network");
  } else if (!is_pattern) {
    group->exact.push_back(i);
  } else if ((group->any == kNoNode || value(group->any).empty()) &&
             can_follow(i, *group)) {
    group->patterns.push_back(i);
  }
}

std::vector<LimitsWriter::Group> LimitsWriter::groups(std::uint32_t parent) {
  std::vector<Group> groups;
  std::map<std::string_view, std::size_t> of_key;
  for (std::uint32_t i = first_[parent]; i != kNoNode; i = next_[i]) {
    const std::string_view key =
        from_.name(node(i)).substr(0, node(i).key_size);
    if (key.find('*') != key.npos) {
      lose_below(i, "a key with a * has no equivalent");
      continue;
    }
    if (looks_like_network(key)) {
      lose_below(i, "limits.yaml takes this key for a network");
      continue;
    }
    if (node(i).value_to_hold) {
      lose_below(i, "value_to_hold has no equivalent: programs reserve");
      continue;
    }
    const auto [found, fresh] = of_key.emplace(key, groups.size());
    if (fresh) groups.emplace_back().key = key;
    add(i, &groups[found->second]);
  }
  return groups;
}

// What stands after "limits: " at a descriptor.
std::string LimitsWriter::limits(std::uint32_t i) {
  const Rule* const rule = this->rule(i);
  if (rule == nullptr || rule->unlimited) return "[]";
  if (!domain_->parents && first_[i] != kNoNode) {
    lose(i,
         "this limit is for descriptors that end here, and there are others "
         "below: limits.yaml would count those, too");
    return "[]";
  }
  if (!rule->replaces.empty()) {
    lose(i, "replaces has no equivalent: all limits of a request count");
  }
  if (rule->quota_mode) {
    lose(i, "quota_mode has no equivalent: this limit denies alone");
  }
  if (rule->limit.is_leased() && !domain_->all_or_nothing) {
    lose(i, "lease: limits.yaml charges this limit only if all others fit");
  }
  if (rule->metadata != nullptr) lose(i, "metadata has no equivalent");
  return limit_text(*rule);
}

void LimitsWriter::begin_line(std::size_t indent, std::string_view name) {
  append_yaml_key(std::string(indent, ' '), name.size(), yaml_scalar(name),
                  &yaml_);
}

void LimitsWriter::write_node(std::uint32_t i, const Group& group,
                              std::size_t depth) {
  const bool any = i == group.any;
  const std::size_t indent = depth * 8 + 2;
  begin_line(indent, any ? "*" : value(i));
  const std::string margin = '\n' + std::string(indent + 2, ' ');
  // Here nothing is inherited from a sibling.
  const bool alone = !any && group.any != kNoNode;
  const bool shares = node(i).share_threshold;
  const std::string limits = this->limits(i);
  if (first_[i] == kNoNode) {
    yaml_ += std::string(" {") + (alone ? "inherit: false, " : "") +
             (shares ? "share: true, " : "") + "limits: " + limits + "}\n";
    return;
  }
  if (alone) yaml_ += margin + "inherit: false";
  if (shares) yaml_ += margin + "share: true";
  yaml_ += margin + "limits: " + limits + '\n';
  write_below(i, depth + 1);
}

void LimitsWriter::write_group(const Group& group, std::size_t depth) {
  const std::size_t indent = depth * 8 - 2;
  begin_line(indent, group.key);
  yaml_ += '\n' + std::string(indent + 2, ' ') + "children:\n";
  for (const std::uint32_t i : group.exact) write_node(i, group, depth);
  for (const std::uint32_t i : group.patterns) write_node(i, group, depth);
  if (group.any != kNoNode) write_node(group.any, group, depth);
}

void LimitsWriter::write_below(std::uint32_t parent, std::size_t depth) {
  if (depth > kMaxDepth) {
    for (std::uint32_t i = first_[parent]; i != kNoNode; i = next_[i]) {
      lose_below(i, "limits.yaml cannot be as deep as this");
    }
    return;
  }
  bool begun = false;
  for (const Group& group : groups(parent)) {
    if (group.exact.empty() && group.patterns.empty() && group.any == kNoNode) {
      continue;
    }
    if (!begun) yaml_ += std::string(depth * 8 - 4, ' ') + "children:\n";
    begun = true;
    write_group(group, depth);
  }
}

// Whether a top-level name can be that of the domain; it is left out if not.
bool LimitsWriter::can_be_root(const Domain& domain) {
  const bool is_pattern = domain.name.find('*') != std::string::npos;
  if (is_pattern) {
    lose_below(domain.node, "a domain with a * has no equivalent");
  } else if (looks_like_network(domain.name)) {
    lose_below(domain.node, "limits.yaml takes this domain for a network");
  } else {
    return true;
  }
  return false;
}

std::string LimitsWriter::write() {
  for (const Domain& domain : from_.domains_) {
    if (!can_be_root(domain)) continue;
    domain_ = &domain;
    if (yaml_.empty()) yaml_ = "schema:\n";
    begin_line(2, domain.name);
    yaml_ += "\n    charge: ";
    yaml_ += domain.all_or_nothing ? "all_or_nothing" : "independent";
    yaml_ += '\n';
    write_below(domain.node, 1);
  }
  return std::move(yaml_);
}

std::vector<std::string> LimitsWriter::lost() const {
  if (lost_.empty()) return {};
  const std::vector<std::string_view> names(from_.files_.begin(),
                                            from_.files_.end());
  return lost_.to_status(names).error().messages;
}

std::string limits_from_descriptors(const Descriptors& descriptors,
                                    std::vector<std::string>* lost) {
  LimitsWriter writer(descriptors);
  std::string yaml = writer.write();
  if (lost != nullptr) *lost = writer.lost();
  return yaml;
}

}  // namespace limitree
