#include "tree/arrange.hpp"

#include <algorithm>
#include <bit>

namespace limitree {

namespace {

constexpr std::uint32_t kCompareUpTo = 8;  // more names get a hash table

}  // namespace

void store_exact(const std::vector<Child>& exact, Nodes* nodes,
                 Children* children) {
  std::vector<Child>& all = nodes->children;
  children->exact = nodes->next_child();
  children->exact_count = static_cast<std::uint32_t>(exact.size());
  all.insert(all.end(), exact.begin(), exact.end());
  for (const Child& child : exact) {
    children->longest = std::max(children->longest, child.name.size);
  }
  if (exact.size() <= kCompareUpTo) return;

  std::vector<Slot>& slots = nodes->slots;
  const std::size_t size = std::bit_ceil(2 * exact.size());
  children->slots = static_cast<std::uint32_t>(slots.size());
  children->mask = static_cast<std::uint32_t>(size - 1);
  slots.resize(slots.size() + size, Slot{0, kNoIndex});
  for (std::uint32_t i = 0; i < children->exact_count; ++i) {
    const std::uint32_t hash = name_hash(nodes->name(exact[i]));
    std::uint32_t at = hash & children->mask;
    while (slots[children->slots + at].child != kNoIndex) {
      at = (at + 1) & children->mask;
    }
    slots[children->slots + at] = {hash, children->exact + i};
  }
}

void store_networks(const std::vector<Child>& networks,
                    const std::vector<Network>& addresses, Nodes* nodes,
                    Children* children) {
  std::vector<NetworkChild> sorted;
  for (std::size_t i = 0; i < networks.size(); ++i) {
    sorted.push_back({addresses[i], nodes->next_child()});
    nodes->children.push_back(networks[i]);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const NetworkChild& a, const NetworkChild& b) {
              if (a.network.prefix != b.network.prefix) {
                return a.network.prefix > b.network.prefix;
              }
              return a.network < b.network;
            });
  children->groups = static_cast<std::uint32_t>(nodes->groups.size());
  for (const NetworkChild& child : sorted) {
    const bool v6 = child.network.address.v6;
    const auto prefix = static_cast<std::uint8_t>(child.network.prefix);
    const bool joins = children->group_count > 0 &&
                       nodes->groups.back().v6 == v6 &&
                       nodes->groups.back().prefix == prefix;
    if (!joins) {
      const auto first = static_cast<std::uint32_t>(nodes->networks.size());
      nodes->groups.push_back({v6, prefix, first, 0});
      ++children->group_count;
    }
    ++nodes->groups.back().count;
    nodes->networks.push_back(child);
  }
}

void store_globs(std::vector<Child> globs, Nodes* nodes, Children* children) {
  std::stable_sort(
      globs.begin(), globs.end(), [nodes](const Child& a, const Child& b) {
        return literal_size(nodes->name(a)) > literal_size(nodes->name(b));
      });
  children->globs = nodes->next_child();
  children->glob_count = static_cast<std::uint32_t>(globs.size());
  nodes->children.insert(nodes->children.end(), globs.begin(), globs.end());
}

}  // namespace limitree
