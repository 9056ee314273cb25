// The configuration of envoyproxy/ratelimit, ready to ask: domains, and below
// each of them a tree of descriptors with rules.  load_descriptors() makes it.
//
// Immutable, so any number of threads may ask.  It knows which rule a
// descriptor of a request meets, but nothing about buckets or time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/inline_vector.hpp"
#include "base/status.hpp"
#include "descriptors/rule.hpp"
#include "text/problems.hpp"

namespace limitree {

// A key and its value, in the descriptor of a request.
struct Entry {
  std::string_view key;
  std::string_view value;
};

using Entries = std::span<const Entry>;

// Appends the key and, if there is one, "_" and the value: the entry in names
// of metrics.
void append_entry(const Entry& entry, std::string* out);

// "key=value", or the key alone, for people.
std::string entry_text(const Entry& entry);

// The name of a domain, and what its files say about all its rules.
struct Domain {
  std::string name;
  std::uint32_t node = 0;
  bool all_or_nothing = false;  // no rule is charged unless all fit
  bool parents = false;         // rules on the way to the last entry count, too
};

// When the rules of `domain` with that limit are charged.  Unless the
// domain states otherwise, as in envoyproxy/ratelimit, which also counts hits
// that it denies, if the limit can: what is held fits.
Charge charge_of(const Domain& domain, const Limit& limit);

// Stands for the index of a node or rule if there is none.
constexpr std::uint32_t kNoNode = UINT32_MAX;

// One descriptor of the configuration.  Its composite name is its key and, if
// it states a value, "_" and the value.
struct DescriptorNode {
  std::uint32_t parent = kNoNode;  // kNoNode: a domain
  std::uint32_t rule = kNoNode;    // of a domain: its index
  std::size_t name = 0;            // the composite name, in Descriptors::text_
  std::uint32_t name_size = 0;
  std::uint32_t key_size = 0;
  std::uint32_t first_pattern = 0;  // of its children, in declaration order
  std::uint32_t pattern_count = 0;
  std::uint32_t file = 0;  // where it was written
  Mark mark;
  bool share_threshold = false;  // all that match share one bucket
  bool value_to_metric = false;
  bool value_to_hold = false;  // its values name holds, and not buckets
};

// Where one entry led.
struct DescriptorStep {
  enum class How : std::uint8_t {
    kExact,     // to the composite name of the entry
    kWildcard,  // to the first pattern that matches this
    kDefault,   // to the key alone
  };
  std::uint32_t node;
  How how;
};

using DescriptorSteps = InlineVector<DescriptorStep, 16>;

class Descriptors {
 public:
  // No domains.
  Descriptors() = default;

  std::span<const Domain> domains() const { return domains_; }
  std::span<const Rule> rules() const { return rules_; }

  // nullptr if there is no such domain.
  const Domain* find(std::string_view domain) const;

  // Appends to *steps where each of `entries` leads, up to the first that leads
  // nowhere.  Does not backtrack.
  void walk(const Domain& domain, Entries entries,
            DescriptorSteps* steps) const;

  // nullptr if that node has none.
  const Rule* rule_at(const DescriptorStep& step) const {
    const std::uint32_t rule = nodes_[step.node].rule;
    return rule == kNoNode ? nullptr : &rules_[rule];
  }

  // The same for this object, in which a rule that denies may stop the others:
  // see stopping().
  Charge charge_of(const Domain& domain, const Limit& limit) const;

  // A copy in which a rule that is over its limit prevents the charging of the
  // other rules of a request: the option stop_increment.
  Descriptors stopping() const;

  // Whether any rule holds.
  bool any_holds() const { return holds_; }

  // Whether the value of the entry names what the request holds.
  bool names_hold(const DescriptorStep& step) const {
    return nodes_[step.node].value_to_hold;
  }

  // The pattern that takes the place of the entry's value in names of buckets;
  // empty if there is none.  Part of the composite name that the entry led to,
  // or "*".
  std::string_view shared_pattern(const DescriptorStep& step,
                                  std::string_view key) const;

  // The name of the rule in metrics, if `steps` led to it.  The text is the
  // rule's or, if it depends on the request, in *room.
  std::string_view metric_key(const Domain& domain, Entries entries,
                              std::span<const DescriptorStep> steps,
                              std::string* room) const;

  // All rules as text for people, one line for each descriptor.
  std::string describe() const;

  // The walk of one descriptor of a request as text for people: where each
  // entry leads and why, and the rules that it meets.
  std::string explain(std::string_view domain, Entries entries) const;

 private:
  friend class DescriptorBuilder;
  friend class LimitsWriter;

  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t node = kNoNode;
  };

  static std::uint32_t hash(std::uint32_t parent, std::string_view name);
  std::string_view name(const DescriptorNode& node) const {
    return {text_.data() + node.name, node.name_size};
  }
  // "domain.key_value.key"
  std::string place(const DescriptorNode& node) const;
  std::string described(const DescriptorNode& node) const;
  std::string reason(const DescriptorStep& step, const Entry& entry) const;
  std::string explain_steps(const Domain& domain, Entries entries,
                            std::span<const DescriptorStep> steps) const;
  std::uint32_t find(std::uint32_t parent, std::string_view name) const;
  DescriptorStep step(std::uint32_t parent, const Entry& entry,
                      InlineVector<char, 256>* room) const;
  void append_metric(const Entry& entry, const DescriptorStep& step,
                     std::string* out) const;

  std::vector<Domain> domains_;
  // Parents before their children, and children in the order of the files.
  std::vector<DescriptorNode> nodes_;
  std::vector<Rule> rules_;
  std::vector<std::uint32_t> patterns_;
  // From a parent and a composite name to a node: open addressing, at most half
  // full.  Empty, or of a power of two.
  std::vector<Slot> slots_;
  bool stops_ = false;       // see stopping()
  bool holds_ = false;       // some rule
  std::size_t longest_ = 0;  // bytes of the longest composite name
  std::string text_;
  std::vector<std::string> files_;  // their names
};

// Returns the text of the limits.yaml, as docs/descriptors.md describes it: a
// path is a domain, and then the key and the value of each entry.
//
// *lost, which may be null, takes a message for each rule, and for each setting
// of a rule, that has no equivalent: "d.yaml:7:9: ...".  Such a rule is left
// out; the text is empty if no domain is left.  If there are none, both allow
// the same requests that have one descriptor, entries as the files name them,
// and one hit. REQUIRES: there is a domain.
std::string limits_from_descriptors(const Descriptors& descriptors,
                                    std::vector<std::string>* lost = nullptr);

// One file; messages begin with its name.
struct DescriptorFile {
  std::string_view yaml;
  std::string_view name;
  bool merges = false;  // it may add to a domain of a file before it
};

// kInvalidConfig with a message for each mistake of each file, in their order:
// "d.yaml:7:9: invalid rate limit unit 'minutes'".
Result<Descriptors> load_descriptors(std::span<const DescriptorFile> files);

}  // namespace limitree
