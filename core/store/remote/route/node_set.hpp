// The nodes that a router has made so far, one for each endpoint.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>

#include "store/remote/common/node.hpp"

namespace limitree::remote {

// They stay, because callers hold bare pointers to them: a server that leaves
// and comes back finds its node again.  kMaxNodes stops servers that keep
// naming new addresses.
class NodeSet {
 public:
  static constexpr std::int32_t kMaxNodes = 1024;

  // Everything must outlive it.
  NodeSet(const Protocol& protocol, Traffic* traffic)
      : protocol_(protocol), traffic_(traffic) {}
  ~NodeSet() {
    for (Entry* entry = newest_.load(); entry != nullptr;) {
      Entry* const older = entry->older;
      delete entry;
      entry = older;
    }
  }
  NodeSet(const NodeSet&) = delete;
  NodeSet& operator=(const NodeSet&) = delete;

  // The node of `endpoint`, made if there is none yet; null if there are
  // kMaxNodes others.
  Node* at(const Endpoint& endpoint) {
    if (Node* const found = find(endpoint)) return found;
    const std::lock_guard lock(mutex_);
    if (Node* const found = find(endpoint)) return found;
    if (count_ == kMaxNodes) return nullptr;
    auto* const entry = new Entry{{endpoint, protocol_, traffic_},
                                  newest_.load(std::memory_order_relaxed)};
    ++count_;
    newest_.store(entry, std::memory_order_release);
    return &entry->node;
  }

  bool full() {
    const std::lock_guard lock(mutex_);
    return count_ == kMaxNodes;
  }

  // Takes no lock.
  void for_each(const std::function<void(Node*)>& visit) const {
    find_if([&](Node* node) {
      visit(node);
      return false;
    });
  }

  void before_fork() { mutex_.lock(); }
  void after_fork() { mutex_.unlock(); }

 private:
  struct Entry {
    Node node;
    Entry* const older;
  };

  Node* find_if(const auto& is_it) const {
    for (Entry* entry = newest_.load(std::memory_order_acquire);
         entry != nullptr; entry = entry->older) {
      if (is_it(&entry->node)) return &entry->node;
    }
    return nullptr;
  }
  Node* find(const Endpoint& endpoint) const {
    return find_if([&](Node* node) { return node->endpoint() == endpoint; });
  }

  const Protocol& protocol_;
  Traffic* const traffic_;
  std::mutex mutex_;  // held to add an entry
  std::int32_t count_ = 0;
  std::atomic<Entry*> newest_{nullptr};  // a list that only grows
};

}  // namespace limitree::remote
