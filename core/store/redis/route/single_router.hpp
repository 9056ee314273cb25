// One server, at an address that does not change.

#ifndef LIMITREE_STORE_REDIS_ROUTE_SINGLE_ROUTER_HPP
#define LIMITREE_STORE_REDIS_ROUTE_SINGLE_ROUTER_HPP

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "store/redis/route/router.hpp"

namespace limitree::redis {

class SingleRouter final : public Router {
 public:
  // Its connections are closed that often at most: while a name still leads to
  // a replica, new ones end there too.
  static constexpr Duration kBetweenDrops = std::chrono::milliseconds(200);

  SingleRouter(const Settings& settings, Traffic* traffic);

  Node* route(const Target&) override { return &node_; }
  std::unique_ptr<Task> discovery() override { return nullptr; }
  Status discovery_failure() override { return {}; }
  Check check_due(Node*, Monotonic) override { return {}; }
  void checked(Node*, const Outcome&) override {}

  // A server that has become a replica: behind its name there may be another
  // one by now, which a new connection finds.
  bool learn(Node* node, const Target& target, const Outcome& outcome) override;

  void for_each(const std::function<void(Node*)>& visit) override {
    visit(&node_);
  }
  void before_fork() override {}
  void after_fork() override {}
  std::int32_t slot_of(std::string_view) const override { return 0; }

 private:
  Node node_;
  std::atomic<Monotonic> next_drop_{Monotonic{}};
};

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_ROUTE_SINGLE_ROUTER_HPP
