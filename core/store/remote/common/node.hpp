// One server of the store: where it is, how to log in there, and whether it is
// worth a try.
//
// A node does no I/O.  A router decides which node a command goes to, and the
// drivers keep the connections to it.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "io/endpoint.hpp"
#include "store/remote/common/failure.hpp"
#include "store/remote/common/health.hpp"
#include "store/remote/common/traffic.hpp"

namespace limitree::remote {

class Protocol;  // wire/dialog.hpp

class Node {
 public:
  // The connections that blocking callers share.  A router can only close them.
  class Pool {
   public:
    virtual ~Pool() = default;
    virtual void close(Failure failure, const std::string& detail) = 0;
  };

  // `protocol` and `traffic` must outlive it.
  Node(Endpoint endpoint, const Protocol& protocol, Traffic* traffic)
      : endpoint_(std::move(endpoint)),
        protocol_(protocol),
        traffic_(*traffic) {}
  ~Node() { delete pool(); }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const Endpoint& endpoint() const { return endpoint_; }
  const Protocol& protocol() const { return protocol_; }
  Health& health() { return health_; }
  Traffic& traffic() const { return traffic_; }

  // Null until the driver of blocking callers has made one.
  Pool* pool() const { return pool_.load(std::memory_order_acquire); }

  // Keeps the pool, and destroys it with the node.  REQUIRES: there is none.
  void set_pool(std::unique_ptr<Pool> pool) {
    pool_.store(pool.release(), std::memory_order_release);
  }

  // Closes all connections to this server, after a READONLY or a failover.
  // Callers that wait get kUnknown or kNotSent with `failure`.
  void drop_connections(Failure failure, const std::string& detail) {
    drops_.fetch_add(1, std::memory_order_relaxed);
    if (Pool* const connections = pool()) connections->close(failure, detail);
  }

  // How often drop_connections() was called.  The owner of a connection that is
  // not in the pool, such as an EventDriver, closes that too when this changes.
  std::uint64_t drops() const { return drops_.load(std::memory_order_relaxed); }

 private:
  const Endpoint endpoint_;
  const Protocol& protocol_;
  Traffic& traffic_;
  Health health_;
  std::atomic<std::uint64_t> drops_{0};
  std::atomic<Pool*> pool_{nullptr};  // owned
};

}  // namespace limitree::remote
