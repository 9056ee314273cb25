// The inside of a Tree: each top-level name has flat arrays with indices, built
// once by compile.hpp, and trees share them.
//
// The data of one node is next to its name (Child).  Nodes with equal children
// share them (Children).  So an override that only states a limit costs little
// more than its name.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/limit.hpp"
#include "base/plan.hpp"
#include "tree/address.hpp"
#include "tree/id_table.hpp"
#include "tree/key_kind.hpp"
#include "tree/pattern.hpp"

namespace limitree {

inline constexpr std::uint32_t kNoIndex = UINT32_MAX;

// A range of bytes in Nodes::text.
struct Text {
  std::uint32_t first = 0;
  std::uint32_t size = 0;
};

// Where something was written: a name, and the place of its parent.
struct WrittenPlace {
  std::uint32_t parent;  // kNoIndex for top-level names
  Text name;
};

// A range of Nodes::limits.
struct LimitRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

struct Node {
  std::uint32_t first_limit;  // in Nodes::limits; kNoIndex: no limits
  std::uint32_t limit_count;
  std::uint32_t children;  // index in Nodes::children_of; kNoIndex: none
  std::uint32_t place;     // where the node itself was written
};

struct Child {
  Text name;  // canonical where it is an address or a network
  Node node;
  bool share;  // all matches share one bucket
};

// The children that are networks with one prefix, sorted by address.
struct NetworkGroup {
  bool v6;
  std::uint8_t prefix;
  std::uint32_t first;  // in Nodes::networks
  std::uint32_t count;
};

struct NetworkChild {
  Network network;
  std::uint32_t child;  // index in Nodes::children
};

struct Slot {
  std::uint32_t hash;
  std::uint32_t child;  // index in Nodes::children; kNoIndex: free
};

// A file of ids that have limits of their own.
struct Overrides {
  IdTable ids;       // to small numbers, one for each set of limits
  std::string file;  // as written in limits.yaml
};

// Such a file at one node of the tree.
struct OverridesHere {
  std::uint32_t overrides;    // index in Nodes::overrides
  std::uint32_t first_child;  // in Nodes::children, for the id's number 0
};

// The children of a node, in the order in which they are tried.
struct Children {
  std::uint32_t exact = 0;  // the first literal name in Nodes::children
  std::uint32_t exact_count = 0;
  std::uint32_t longest = 0;    // bytes of the longest of these names
  std::uint32_t slots = 0;      // the first of their table in Nodes::slots ...
  std::uint32_t mask = 0;       // ... and its size less one; 0: no table
  std::uint32_t overrides = 0;  // in Nodes::overrides_here
  std::uint32_t overrides_count = 0;
  std::uint32_t groups = 0;  // in Nodes::groups, the longest prefix first
  std::uint32_t group_count = 0;
  std::uint32_t globs = 0;  // in Nodes::children
  std::uint32_t glob_count = 0;
  std::uint32_t any = kNoIndex;  // "*" in Nodes::children
  Key key;                       // the kind of the segments
  std::uint8_t ipv6_prefix = 0;  // for kIp: the group of an IPv6 address
  bool only_any = false;  // other names all match a "*" that is not shared
};

// The result of one segment of a path.
struct Step {
  const Child* child = nullptr;  // nullptr: no match
  PatternKind pattern = PatternKind::kExact;
  const Overrides* overrides = nullptr;  // that contain the segment
  Segment segment{};
};

struct Nodes {
  std::vector<Limit> limits;
  std::vector<Children> children_of;  // the first entry: the top-level name
  std::vector<Child> children;
  std::vector<NetworkGroup> groups;
  std::vector<NetworkChild> networks;
  std::vector<Slot> slots;
  std::vector<WrittenPlace> places;
  std::vector<Overrides> overrides;
  std::vector<OverridesHere> overrides_here;
  std::string text;
  bool shadow = false;           // no limit denies, whatever its own mode
  std::size_t policy_bytes = 0;  // of the limits that are not from files

  // What this takes in memory, but for files of overrides.
  std::size_t bytes() const;

  // The top-level name.
  const Child& root() const { return children[children_of.front().exact]; }

  // Numbers the limits from `first` on.
  void set_indices(std::uint32_t first);

  // Frees unused room: a tree may be large, and live long.
  void shrink_to_fit();

  // The place of the next of `children`.
  std::uint32_t next_child() const {
    return static_cast<std::uint32_t>(children.size());
  }

  std::string_view view(Text at) const {
    return {text.data() + at.first, at.size};
  }
  std::string_view name(const Child& child) const { return view(child.name); }

  // "user:*/trade"
  std::string path(std::uint32_t place) const;

  // The child with the literal name `segment`; nullptr if there is none.
  const Child* find_exact(const Children& from, std::string_view segment) const;

  // Whether names other than the literal ones may follow.  A literal name is
  // then one caller among others, and keeps its state when it is added later.
  bool substitutes(const Children& from) const {
    return from.any != kNoIndex || from.glob_count != 0 ||
           from.group_count != 0;
  }
  Segment::Kind exact_kind(const Children& from) const {
    return substitutes(from) ? Segment::Kind::kCaller : Segment::Kind::kExact;
  }

  // Appends the limits of one node; `path` is the path of that node.
  LimitRange add_limits(std::vector<Limit> stated, const std::string& path);

  // Each appends children of one kind, and sets in *into where they are, so
  // that a walk finds them.
  void store_exact(const std::vector<Child>& exact, Children* into);
  void store_networks(std::vector<std::pair<Network, Child>> found,
                      Children* into);
  void store_globs(std::vector<Child> globs, Children* into);

  // Steps to `segment` below a node.  Returns what is wrong with the segment,
  // in static storage, if it does not have the node's key; null if it does.
  // *plan keeps text that is neither in the path nor in the tree.
  const char* step(const Children& from, std::string_view segment, Plan* plan,
                   Step* out) const;

 private:
  // This many names of limits are shared while the tree is read.  A million
  // limits usually have few different names.
  static constexpr std::size_t kMaxShared = 1024;

  SharedText intern(const std::string& said);
  const Child* find_in_table(const Children& from,
                             std::string_view segment) const;
  const NetworkChild* find_network(const Children& from,
                                   const Address& address) const;
  void find_pattern(const Children& from, std::string_view segment,
                    Step* out) const;
  bool find_override(const Children& from, std::string_view id,
                     Step* out) const;
  void step_by_pattern(const Children& from, std::string_view segment,
                       Step* out) const;
  void step_by_tier(const Children& from, std::string_view segment,
                    Step* out) const;
  const char* step_by_key(const Children& from, std::string_view segment,
                          Plan* plan, Step* out) const;
  const char* step_by_address(const Children& from, std::string_view segment,
                              Plan* plan, Step* out) const;

  std::unordered_map<std::string, SharedText> texts_;
};

// The top-level names of a tree.
struct Roots {
  struct Root {
    std::shared_ptr<const Nodes> nodes;
    bool added = false;  // after the tree was loaded: see Tree::with()
  };

  std::vector<Root> all;
  Nodes names;  // as many exact children, in the same order ...
  Children at;  // ... laid out here; the rest of `names` is empty
  std::size_t limit_count = 0;
  std::uint32_t index_end = 0;  // every Limit::index is less
  std::size_t added_bytes = 0;  // what those that were added take

  // nullptr if there is no such name.  Its node is one of those of
  // root_of(child).
  const Child* find(std::string_view name) const {
    return names.find_exact(at, name);
  }
  const Root& root_of(const Child* found) const {
    return all.data()[found - names.children.data()];
  }
};

[[gnu::always_inline]] inline const Child* Nodes::find_exact(
    const Children& from, std::string_view segment) const {
  if (segment.size() > from.longest) return nullptr;
  if (from.mask != 0) return find_in_table(from, segment);
  const Child* const first = children.data() + from.exact;
  for (const Child* child = first; child != first + from.exact_count; ++child) {
    if (child->name.size == segment.size() &&
        same_bytes(text.data() + child->name.first, segment.data(),
                   segment.size())) {
      return child;
    }
  }
  return nullptr;
}

// Most trees consist of literal names and "*", so these are inline.
inline const char* Nodes::step(const Children& from, std::string_view segment,
                               Plan* plan, Step* out) const {
  if (from.key.kind != KeyKind::kText) [[unlikely]]
    return step_by_key(from, segment, plan, out);
  if (const Child* exact = find_exact(from, segment)) {
    *out = {exact, PatternKind::kExact, nullptr, {segment, exact_kind(from)}};
  } else if (from.only_any) {
    *out = {&children[from.any],
            PatternKind::kAny,
            nullptr,
            {segment, Segment::Kind::kCaller}};
  } else {
    step_by_pattern(from, segment, out);
  }
  return nullptr;
}

}  // namespace limitree
