// Builds Descriptors from descriptors as they are read, one after the other.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "descriptors/descriptors.hpp"
#include "text/problems.hpp"
#include "text/yaml.hpp"

namespace limitree {

// The most descriptors of all files together, and the most bytes of their
// places, such as "domain.key_value.key".
inline constexpr std::size_t kMaxDescriptors = 1'000'000;
inline constexpr std::size_t kMaxPlaces = std::size_t{256} << 20;

// What the root of one file says.
struct DomainDraft {
  Value name;
  std::optional<bool> all_or_nothing;
  std::optional<bool> parents;
};

// What one descriptor says, without what is below it.
struct DescriptorDraft {
  Value key;
  Value value;  // no text: any value
  bool share_threshold = false;
  bool value_to_metric = false;
  bool value_to_hold = false;
  std::optional<Rule> rule;
};

class DescriptorBuilder {
 public:
  // Mistakes go to *problems.
  explicit DescriptorBuilder(Problems* problems) : problems_(*problems) {}

  // Descriptors added from now on are in this file, counted from 0 as by
  // Problems::set_text.  If it `merges`, it may add to a domain that exists.
  void begin_file(std::string_view name, bool merges);

  // Each returns the node that descriptors below it name as their parent.
  // nullopt: there are too many descriptors, or they are too large.
  std::uint32_t add_domain(const DomainDraft& draft);
  std::optional<std::uint32_t> add(std::uint32_t parent, DescriptorDraft draft);

  // Reports duplicates.  The result is complete if there are no problems.
  Descriptors finish();

 private:
  std::uint32_t add_node(std::uint32_t parent, const Value& key,
                         std::string_view value);
  void join(const DomainDraft& draft, DomainDraft* all);
  bool has_room(std::uint32_t parent, const DescriptorDraft& draft);
  void add_name(std::uint32_t node);
  void list_patterns();
  void check_hold(const DescriptorNode& node, bool above, bool named);
  void finish_rules();

  Problems& problems_;
  bool merges_ = false;  // see begin_file()
  Descriptors made_;
  std::vector<DomainDraft> stated_;  // the flags of all files of each domain
  std::vector<std::size_t> place_sizes_;  // of each node
  std::size_t places_ = 0;                // all of them
  bool full_ = false;                     // which has been reported
};

}  // namespace limitree
