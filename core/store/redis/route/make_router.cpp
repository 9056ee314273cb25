#include "store/redis/route/make_router.hpp"

#include <atomic>
#include <chrono>
#include <utility>

#include "store/redis/route/cluster_router.hpp"
#include "store/redis/route/sentinel_router.hpp"
#include "store/redis/route/slot.hpp"
#include "store/redis/wire/redis_dialog.hpp"

namespace limitree::redis {

namespace {

// The shortest time between two closings of a server's connections: while a
// name still leads to a replica, new ones end there too.
constexpr Duration kBetweenDrops = std::chrono::milliseconds(200);

// One node, at an address that does not change.
class OneNodeRouter : public Router {
 public:
  OneNodeRouter(const Settings& settings, Traffic* traffic)
      : protocol_(settings.login),
        node_(settings.url.endpoints.front(), protocol_, traffic) {}

  Node* route(const Target&) override { return &node_; }
  void for_each(const std::function<void(Node*)>& visit) override {
    visit(&node_);
  }

 private:
  const RedisProtocol protocol_;
  Node node_;
};

class SingleRouter final : public OneNodeRouter {
 public:
  using OneNodeRouter::OneNodeRouter;

  // A server that has become a replica: behind its name there may be another
  // one by now, which a new connection finds.
  bool learn(Node* node, const Target&, const Outcome& outcome) override {
    if (outcome.failure != Failure::kReadOnly &&
        outcome.failure != Failure::kMasterDown) {
      return false;
    }
    if (!take_turn(&next_drop_, steady_now(), kBetweenDrops)) return false;
    node->drop_connections(outcome.failure, "the server has become a replica");
    return true;
  }

 private:
  std::atomic<Monotonic> next_drop_{Monotonic{}};
};

// The servers of the host's client.  It finds the right one by itself; in a
// cluster it needs calls whose keys lie in one slot.
class ClientRouter final : public OneNodeRouter {
 public:
  ClientRouter(const Settings& settings, Traffic* traffic)
      : OneNodeRouter(settings, traffic),
        is_cluster_(settings.url.topology == Topology::kCluster) {}

  bool learn(Node*, const Target&, const Outcome&) override { return false; }
  std::int32_t slot_of(std::string_view key) const override {
    return is_cluster_ ? redis::slot_of(key) : 0;
  }

 private:
  const bool is_cluster_;
};

// The router of a store whose limits of a second are kept elsewhere: two
// routers, each of which knows its own servers.
class TwoPartRouter final : public Router {
 public:
  // `per_second_settings` are those of that part, and must outlive it.
  TwoPartRouter(std::unique_ptr<Router> main,
                const Settings& per_second_settings,
                std::unique_ptr<Router> per_second)
      : per_second_settings_(per_second_settings),
        main_(std::move(main)),
        per_second_(std::move(per_second)) {}

  Node* route(const Target& target) override {
    return part(target)->route(target);
  }
  Router* part(const Target& target) override {
    return target.per_second ? per_second_.get() : main_.get();
  }
  const remote::Settings& settings_of(
      const Node* node, const remote::Settings& of_store) const override {
    if (is_per_second(node)) return per_second_settings_;
    return of_store;  // NOLINT: it outlives the router
  }
  Check check_due(Node* node, Monotonic now) override {
    return part_of(node).check_due(node, now);
  }
  void checked(Node* node, const Outcome& outcome) override {
    part_of(node).checked(node, outcome);
  }
  bool learn(Node* node, const Target& target,
             const Outcome& outcome) override {
    return part_of(node).learn(node, target, outcome);
  }
  void for_each(const std::function<void(Node*)>& visit) override {
    main_->for_each(visit);
    per_second_->for_each(visit);
  }
  void before_fork() override {
    main_->before_fork();
    per_second_->before_fork();
  }
  void after_fork() override {
    per_second_->after_fork();
    main_->after_fork();
  }
  // Asked only for the keys of a cluster.
  std::int32_t slot_of(std::string_view key) const override {
    return redis::slot_of(key);
  }

 private:
  // A node refers to the login of its part.
  bool is_per_second(const Node* node) const {
    const Login& login =
        static_cast<const RedisProtocol&>(node->protocol()).login();
    return &login == &per_second_settings_.login ||
           &login == &per_second_settings_.sentinel_login;
  }
  Router& part_of(const Node* node) {
    return is_per_second(node) ? *per_second_ : *main_;
  }

  const Settings& per_second_settings_;
  const std::unique_ptr<Router> main_;
  const std::unique_ptr<Router> per_second_;
};

std::unique_ptr<Router> make_part(const Settings& settings, Traffic* traffic) {
  if (settings.url.is_client) {
    return std::make_unique<ClientRouter>(settings, traffic);
  }
  switch (settings.url.topology) {
    case Topology::kSentinel:
      return std::make_unique<SentinelRouter>(settings, traffic);
    case Topology::kCluster:
      return std::make_unique<ClusterRouter>(settings, traffic);
    case Topology::kSingle:
      break;
  }
  return std::make_unique<SingleRouter>(settings, traffic);
}

}  // namespace

std::unique_ptr<Router> make_router(const Settings& settings,
                                    Traffic* traffic) {
  std::unique_ptr<Router> main = make_part(settings, traffic);
  if (settings.per_second == nullptr) return main;
  const Settings& other = *settings.per_second;
  return std::make_unique<TwoPartRouter>(std::move(main), other,
                                         make_part(other, traffic));
}

}  // namespace limitree::redis
