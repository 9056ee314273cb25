#include "store/memcached/servers.hpp"

#include <algorithm>
#include <utility>

#include "io/socket.hpp"

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

void Servers::follow(std::string name, Duration refresh) {
  name_ = name;
  srv_ = std::make_unique<SrvServers>(
      std::move(name), refresh,
      [this](const std::vector<Endpoint>& servers) { set(servers); });
}

bool Servers::is_awaited(std::string* why) {
  *why = "no server is known";
  if (srv_ == nullptr) return false;
  const std::string detail = srv_->detail();
  // Between two looks another thread may have taken the answer.
  if (srv_->asked() != nullptr || list_.load() != nullptr) return true;
  if (detail.empty()) return false;
  *why = "'" + name_ + "': " + detail;
  return false;
}

bool Servers::wait(Monotonic deadline, std::string* why) {
  look(steady_now());
  if (list_.load() == nullptr && is_awaited(why)) {
    const std::shared_ptr<Lookup> asked = srv_->asked();
    if (asked != nullptr) wait_for(asked->fd(), false, deadline);
    look(steady_now());
    is_awaited(why);
  }
  return list_.load() != nullptr;
}

void Servers::before_fork() {
  if (srv_ != nullptr) srv_->before_fork();
  mutex_.lock();
  nodes_.before_fork();
}

void Servers::after_fork() {
  nodes_.after_fork();
  mutex_.unlock();
  if (srv_ != nullptr) srv_->after_fork();
}

void Servers::after_fork_in_child() {
  nodes_.after_fork();
  mutex_.unlock();
  if (srv_ != nullptr) srv_->after_fork_in_child();
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
