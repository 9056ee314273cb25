#include "store/redis/route/node_set.hpp"

namespace limitree::redis {

struct NodeSet::Entry {
  Node node;
  Entry* const older;
};

NodeSet::~NodeSet() {
  for (Entry* entry = newest_.load(); entry != nullptr;) {
    Entry* const older = entry->older;
    delete entry;
    entry = older;
  }
}

Node* NodeSet::find(const Endpoint& endpoint) const {
  for (Entry* entry = newest_.load(std::memory_order_acquire); entry != nullptr;
       entry = entry->older) {
    if (entry->node.endpoint() == endpoint) return &entry->node;
  }
  return nullptr;
}

Node* NodeSet::at(const Endpoint& endpoint) {
  if (Node* const found = find(endpoint)) return found;
  const std::lock_guard lock(mutex_);
  if (Node* const found = find(endpoint)) return found;
  if (count_ == kMaxNodes) return nullptr;
  auto* const entry = new Entry{{endpoint, login_, traffic_},
                                newest_.load(std::memory_order_relaxed)};
  ++count_;
  newest_.store(entry, std::memory_order_release);
  return &entry->node;
}

bool NodeSet::full() {
  const std::lock_guard lock(mutex_);
  return count_ == kMaxNodes;
}

void NodeSet::for_each(const std::function<void(Node*)>& visit) const {
  for (Entry* entry = newest_.load(std::memory_order_acquire); entry != nullptr;
       entry = entry->older) {
    visit(&entry->node);
  }
}

}  // namespace limitree::redis
