#include "store/redis/common/node.hpp"

#include <utility>

namespace limitree::redis {

Node::Node(Endpoint endpoint, const Login& login, Traffic* traffic)
    : endpoint_(std::move(endpoint)), login_(login), traffic_(*traffic) {}

Node::~Node() { delete pool(); }

void Node::set_pool(std::unique_ptr<Pool> pool) {
  pool_.store(pool.release(), std::memory_order_release);
}

void Node::drop_connections(Failure failure, const std::string& detail) {
  drops_.fetch_add(1, std::memory_order_relaxed);
  if (Pool* const connections = pool()) connections->close(failure, detail);
}

}  // namespace limitree::redis
