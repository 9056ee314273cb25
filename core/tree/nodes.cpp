#include "tree/nodes.hpp"

#include <algorithm>

#include "tree/key.hpp"

namespace limitree {

namespace {

constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15;  // 2^64 / golden

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * kMultiplier;
  return hash ^ (hash >> 32);
}

Segment substituted(std::string_view text) {
  return {text, Segment::Kind::kCaller};
}

}  // namespace

// Lookups cannot be slowed down by choosing segments: the table holds names of
// limits.yaml only, and is at most half full.
std::uint32_t name_hash(std::string_view name) {
  std::uint64_t hash = name.size();
  while (name.size() > 8) {
    std::uint64_t word;
    std::memcpy(&word, name.data(), 8);
    hash = mix(hash, word);
    name.remove_prefix(8);
  }
  std::uint64_t word = 0;
  if (!name.empty()) std::memcpy(&word, name.data(), name.size());
  return static_cast<std::uint32_t>(mix(mix(hash, word), 0));
}

std::string Nodes::path(std::uint32_t place) const {
  const Place& here = places[place];
  std::string path;
  if (here.parent != kNoIndex) {
    path = this->path(here.parent);
    path += places[here.parent].parent == kNoIndex ? ':' : '/';
  }
  const std::string_view name = view(here.name);
  const bool exact = pattern_kind(name) == PatternKind::kExact;
  append_segment(
      {name, exact ? Segment::Kind::kExact : Segment::Kind::kPattern}, &path);
  return path;
}

const Child* Nodes::find_in_table(const Children& from,
                                  std::string_view segment) const {
  const std::uint32_t hash = name_hash(segment);
  for (std::uint32_t i = hash & from.mask;; i = (i + 1) & from.mask) {
    const Slot& slot = slots[from.slots + i];
    if (slot.child == kNoIndex) return nullptr;
    if (slot.hash == hash && name(children[slot.child]) == segment) {
      return &children[slot.child];
    }
  }
}

const NetworkChild* Nodes::find_network(const Children& from,
                                        const Address& address) const {
  for (std::uint32_t i = 0; i < from.group_count; ++i) {
    const NetworkGroup& group = groups[from.groups + i];
    if (group.v6 != address.v6) continue;
    const Address wanted = masked(address, group.prefix);
    const NetworkChild* const first = networks.data() + group.first;
    const NetworkChild* const last = first + group.count;
    const NetworkChild* const found = std::lower_bound(
        first, last, wanted, [](const NetworkChild& child, const Address& a) {
          return child.network.address < a;
        });
    if (found != last && found->network.address == wanted) return found;
  }
  return nullptr;
}

const Child* Nodes::find_glob(const Children& from,
                              std::string_view segment) const {
  for (std::uint32_t i = 0; i < from.glob_count; ++i) {
    const Child& child = children[from.globs + i];
    if (glob_matches(name(child), segment)) return &child;
  }
  return nullptr;
}

void Nodes::step_by_pattern(const Children& from, std::string_view segment,
                            Step* out) const {
  const Child* child = find_glob(from, segment);
  out->pattern = child != nullptr ? PatternKind::kGlob : PatternKind::kAny;
  if (child == nullptr && from.any != kNoIndex) child = &children[from.any];
  out->child = child;
  if (child == nullptr) return;
  out->segment = child->share ? Segment{name(*child), Segment::Kind::kPattern}
                              : substituted(segment);
}

bool Nodes::step_by_address(const Children& from, std::string_view segment,
                            Plan* plan, Step* out) const {
  const std::optional<Address> address = parse_address(segment);
  if (!address) return false;
  const AddressText canonical(*address);
  if (const Child* exact = find_exact(from, canonical.view())) {
    *out = {exact, PatternKind::kExact, {name(*exact), Segment::Kind::kExact}};
    return true;
  }

  int prefix = from.ipv6_prefix;
  if (const NetworkChild* found = find_network(from, *address)) {
    out->child = &children[found->child];
    out->pattern = PatternKind::kNetwork;
    prefix = std::max(prefix, found->network.prefix);
  } else if (const Child* glob = find_glob(from, canonical.view())) {
    out->child = glob;
    out->pattern = PatternKind::kGlob;
  } else if (from.any != kNoIndex) {
    out->child = &children[from.any];
    out->pattern = PatternKind::kAny;
  } else {
    out->child = nullptr;
    return true;
  }

  if (out->child->share) {
    out->segment = {name(*out->child), Segment::Kind::kPattern};
  } else if (address->v6 && prefix < address->bits()) {
    const AddressText group(Network{masked(*address, prefix), prefix});
    out->segment = substituted(plan->keep(std::string(group.view())));
  } else if (canonical.view() == segment) {
    out->segment = substituted(segment);  // canonical already: nothing to keep
  } else {
    out->segment = substituted(plan->keep(std::string(canonical.view())));
  }
  return true;
}

}  // namespace limitree
