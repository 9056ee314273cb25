#include "tree/nodes.hpp"

#include <algorithm>
#include <bit>

#include "base/key.hpp"
#include "text/glob.hpp"

namespace limitree {

namespace {

constexpr std::uint32_t kCompareUpTo = 8;  // more names get a hash table

Segment substituted(std::string_view text) {
  return {text, Segment::Kind::kCaller};
}

}  // namespace

std::string Nodes::path(std::uint32_t place) const {
  const WrittenPlace& here = places[place];
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

void Nodes::find_pattern(const Children& from, std::string_view segment,
                         Step* out) const {
  out->pattern = PatternKind::kGlob;
  for (std::uint32_t i = 0; i < from.glob_count; ++i) {
    out->child = &children[from.globs + i];
    if (glob_matches(name(*out->child), segment)) return;
  }
  out->pattern = PatternKind::kAny;
  out->child = from.any == kNoIndex ? nullptr : &children[from.any];
}

void Nodes::set_indices(std::uint32_t first) {
  for (Limit& limit : limits) limit.index = first++;
}

void Nodes::shrink_to_fit() {
  limits.shrink_to_fit();
  children_of.shrink_to_fit();
  children.shrink_to_fit();
  networks.shrink_to_fit();
  slots.shrink_to_fit();
  places.shrink_to_fit();
  text.shrink_to_fit();
  texts_.clear();
}

std::size_t Nodes::bytes() const {
  const auto size = [](const auto& all) {
    return all.size() * sizeof(all.front());
  };
  return sizeof(*this) + size(limits) + size(children_of) + size(children) +
         size(groups) + size(networks) + size(slots) + size(places) +
         text.size() + policy_bytes;
}

LimitRange Nodes::add_limits(std::vector<Limit> stated,
                             const std::string& path) {
  const LimitRange range{static_cast<std::uint32_t>(limits.size()),
                         static_cast<std::uint32_t>(stated.size())};
  for (Limit& limit : stated) {
    std::string suffix;
    if (stated.size() > 1 || limit.is_block()) {
      suffix = "#";
      append_segment({limit.name.view(), Segment::Kind::kExact}, &suffix);
    }
    limit.policy = intern(path + suffix);
    if (!limit.is_plain()) suffix += traits_of(limit.algorithm).suffix;
    limit.suffix = intern(suffix);
    if (shadow) limit.mode = in_shadow(limit.mode);
    limits.push_back(std::move(limit));
  }
  return range;
}

SharedText Nodes::intern(const std::string& said) {
  const auto known = texts_.find(said);
  if (known != texts_.end()) return known->second;
  SharedText shared(said);
  if (texts_.size() < kMaxShared) texts_.emplace(said, shared);
  return shared;
}

void Nodes::store_exact(const std::vector<Child>& exact, Children* into) {
  into->exact = next_child();
  into->exact_count = static_cast<std::uint32_t>(exact.size());
  children.insert(children.end(), exact.begin(), exact.end());
  for (const Child& child : exact) {
    into->longest = std::max(into->longest, child.name.size);
  }
  if (exact.size() <= kCompareUpTo) return;

  const std::size_t size = std::bit_ceil(2 * exact.size());
  into->slots = static_cast<std::uint32_t>(slots.size());
  into->mask = static_cast<std::uint32_t>(size - 1);
  slots.resize(slots.size() + size, Slot{0, kNoIndex});
  for (std::uint32_t i = 0; i < into->exact_count; ++i) {
    const std::uint32_t hash = name_hash(name(exact[i]));
    std::uint32_t at = hash & into->mask;
    while (slots[into->slots + at].child != kNoIndex) {
      at = (at + 1) & into->mask;
    }
    slots[into->slots + at] = {hash, into->exact + i};
  }
}

void Nodes::store_networks(std::vector<std::pair<Network, Child>> found,
                           Children* into) {
  std::ranges::sort(found, {}, [](const auto& one) {
    return std::pair(-one.first.prefix, one.first);
  });
  into->groups = static_cast<std::uint32_t>(groups.size());
  for (const auto& [network, child] : found) {
    const bool v6 = network.address.v6;
    const auto prefix = static_cast<std::uint8_t>(network.prefix);
    const bool joins = into->group_count > 0 && groups.back().v6 == v6 &&
                       groups.back().prefix == prefix;
    if (!joins) {
      const auto first = static_cast<std::uint32_t>(networks.size());
      groups.push_back({v6, prefix, first, 0});
      ++into->group_count;
    }
    ++groups.back().count;
    networks.push_back({network, next_child()});
    children.push_back(child);
  }
}

void Nodes::store_globs(std::vector<Child> globs, Children* into) {
  std::stable_sort(globs.begin(), globs.end(),
                   [this](const Child& a, const Child& b) {
                     return literal_size(name(a)) > literal_size(name(b));
                   });
  into->globs = next_child();
  into->glob_count = static_cast<std::uint32_t>(globs.size());
  children.insert(children.end(), globs.begin(), globs.end());
}

// Looks for `id`, in its canonical form, in the files of overrides of this
// node.  If the id is found, sets all of *out except the segment.
bool Nodes::find_override(const Children& from, std::string_view id,
                          Step* out) const {
  for (std::uint32_t i = 0; i < from.overrides_count; ++i) {
    const OverridesHere& here = overrides_here[from.overrides + i];
    const std::uint32_t number = overrides[here.overrides].ids.find(id);
    if (number == IdTable::kNone) continue;
    out->child = &children[here.first_child + number];
    out->pattern = PatternKind::kExact;
    out->overrides = &overrides[here.overrides];
    return true;
  }
  return false;
}

void Nodes::step_by_pattern(const Children& from, std::string_view segment,
                            Step* out) const {
  if (find_override(from, segment, out)) {
    out->segment = substituted(segment);
    return;
  }
  find_pattern(from, segment, out);
  if (out->child == nullptr) return;
  out->segment = out->child->share
                     ? Segment{name(*out->child), Segment::Kind::kPattern}
                     : substituted(segment);
}

// Steps to one of several limits for the same bucket.
void Nodes::step_by_tier(const Children& from, std::string_view segment,
                         Step* out) const {
  if (const Child* exact = find_exact(from, segment)) {
    *out = {exact, PatternKind::kExact, nullptr, {}};
  } else {
    step_by_pattern(from, segment, out);
  }
  out->segment = {"*", Segment::Kind::kPattern};
}

// Steps to a segment whose key is not plain text.
const char* Nodes::step_by_key(const Children& from, std::string_view segment,
                               Plan* plan, Step* out) const {
  if (from.key.kind == KeyKind::kIp) {
    return step_by_address(from, segment, plan, out);
  }
  if (from.key.kind == KeyKind::kTier) {
    step_by_tier(from, segment, out);
    return nullptr;
  }
  CanonicalId id;
  if (const char* const wrong = id.set(from.key, segment)) return wrong;
  if (const Child* exact = find_exact(from, id.view())) {
    *out = {
        exact, PatternKind::kExact, nullptr, {name(*exact), exact_kind(from)}};
    return nullptr;
  }
  step_by_pattern(from, id.view(), out);
  const bool own =
      out->child != nullptr && out->segment.kind == Segment::Kind::kCaller;
  if (own && id.view().data() != segment.data()) {
    out->segment = substituted(plan->keep(id.view()));
  }
  return nullptr;
}

const char* Nodes::step_by_address(const Children& from,
                                   std::string_view segment, Plan* plan,
                                   Step* out) const {
  const std::optional<Address> address = parse_address(segment);
  if (!address) return "is not an IP address";
  // An IPv4 address has only one form, unless it is written as IPv6.
  const bool written_so = segment.find(':') == std::string_view::npos;
  std::optional<AddressText> formatted;
  if (!written_so) formatted.emplace(*address);
  const std::string_view canonical = written_so ? segment : formatted->view();
  if (const Child* exact = find_exact(from, canonical)) {
    *out = {
        exact, PatternKind::kExact, nullptr, {name(*exact), exact_kind(from)}};
    return nullptr;
  }
  if (find_override(from, canonical, out)) {
    out->segment =
        substituted(canonical == segment ? segment : plan->keep(canonical));
    return nullptr;
  }

  int prefix = from.ipv6_prefix;
  if (const NetworkChild* found = find_network(from, *address)) {
    out->child = &children[found->child];
    out->pattern = PatternKind::kNetwork;
    prefix = std::max(prefix, found->network.prefix);
  } else {
    find_pattern(from, canonical, out);
    if (out->child == nullptr) return nullptr;
  }

  if (out->child->share) {
    out->segment = {name(*out->child), Segment::Kind::kPattern};
  } else if (address->v6 && prefix < address->bits()) {
    const AddressText group(Network{masked(*address, prefix), prefix});
    out->segment = substituted(plan->keep(group.view()));
  } else {
    out->segment =
        substituted(canonical == segment ? segment : plan->keep(canonical));
  }
  return nullptr;
}

}  // namespace limitree
