// The nodes that a router has made so far, one for each endpoint.

#ifndef LIMITREE_STORE_REDIS_ROUTE_NODE_SET_HPP
#define LIMITREE_STORE_REDIS_ROUTE_NODE_SET_HPP

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>

#include "store/redis/common/node.hpp"

namespace limitree::redis {

// They stay, because callers hold bare pointers to them: a server that leaves
// and comes back finds its node again.  kMaxNodes stops servers that keep
// naming new addresses.
class NodeSet {
 public:
  static constexpr std::int32_t kMaxNodes = 1024;

  // Everything must outlive it.
  NodeSet(const Login& login, Traffic* traffic)
      : login_(login), traffic_(traffic) {}
  ~NodeSet();
  NodeSet(const NodeSet&) = delete;
  NodeSet& operator=(const NodeSet&) = delete;

  // The node of `endpoint`, made if there is none yet; null if there are
  // kMaxNodes others.
  Node* at(const Endpoint& endpoint);

  bool full();

  // Takes no lock.
  void for_each(const std::function<void(Node*)>& visit) const;

  void before_fork() { mutex_.lock(); }
  void after_fork() { mutex_.unlock(); }

 private:
  struct Entry;

  Node* find(const Endpoint& endpoint) const;

  const Login& login_;
  Traffic* const traffic_;
  std::mutex mutex_;  // held to add an entry
  std::int32_t count_ = 0;
  std::atomic<Entry*> newest_{nullptr};  // a list that only grows
};

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_ROUTE_NODE_SET_HPP
