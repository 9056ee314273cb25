#include "store/memcached/servers.hpp"

#include <algorithm>

namespace limitree::memcached {

namespace {

constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 33U)) * 0xff51afd7ed558ccdU;
  x = (x ^ (x >> 33U)) * 0xc4ceb9fe1a85ec53U;
  return x ^ (x >> 33U);
}

constexpr std::uint64_t hash_of(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : bytes) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  return mix(hash);
}

}  // namespace

bool Servers::set(const std::vector<Endpoint>& endpoints) {
  List list;
  for (const Endpoint& endpoint : endpoints) {
    remote::Node* const node = nodes_.at(endpoint);
    if (node == nullptr) return false;
    list.push_back({node, hash_of(endpoint.text())});
  }
  std::ranges::sort(list, {}, &Server::hash);
  list.erase(std::unique(list.begin(), list.end()), list.end());
  if (list.empty()) return false;
  const std::lock_guard lock(mutex_);
  auto found = std::ranges::find(lists_, list);
  if (found == lists_.end()) {
    if (lists_.size() == kMaxLists) return false;
    found = lists_.insert(lists_.end(), std::move(list));
  }
  list_.store(&*found, std::memory_order_release);
  return true;
}

remote::Node* Servers::of(std::string_view key) const {
  const List* const list = list_.load(std::memory_order_acquire);
  if (list == nullptr) return nullptr;
  if (list->size() == 1) return list->front().node;
  const std::uint64_t hash = hash_of(key);
  const auto score = [hash](const Server& one) { return mix(hash ^ one.hash); };
  return std::ranges::max_element(*list, {}, score)->node;
}

std::vector<remote::Node*> Servers::all() const {
  std::vector<remote::Node*> nodes;
  const List* const list = list_.load(std::memory_order_acquire);
  if (list == nullptr) return nodes;
  for (const Server& server : *list) nodes.push_back(server.node);
  return nodes;
}

}  // namespace limitree::memcached
