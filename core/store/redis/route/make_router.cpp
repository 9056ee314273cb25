#include "store/redis/route/make_router.hpp"

#include <atomic>
#include <chrono>
#include <utility>

#include "store/redis/route/cluster_router.hpp"
#include "store/redis/route/sentinel_router.hpp"
#include "store/redis/route/slot.hpp"
#include "store/redis/route/two_part_router.hpp"
#include "store/redis/wire/redis_dialog.hpp"
#include "store/remote/route/router.hpp"

namespace limitree::redis {

namespace {

// The shortest time between two closings of a server's connections: while a
// name still leads to a replica, new ones end there too.
constexpr Duration kBetweenDrops = std::chrono::milliseconds(200);

// One server, at an address that does not change.
class SingleRouter final : public Router {
 public:
  SingleRouter(const Settings& settings, Traffic* traffic)
      : protocol_(settings.login),
        node_(settings.url.endpoints.front(), protocol_, traffic) {}

  Node* route(const Target&) override { return &node_; }

  // A server that has become a replica: behind its name there may be another
  // one by now, which a new connection finds.
  bool learn(Node* node, const Target& target, const Outcome& outcome) override;

  void for_each(const std::function<void(Node*)>& visit) override {
    visit(&node_);
  }

 private:
  const RedisProtocol protocol_;
  Node node_;
  std::atomic<Monotonic> next_drop_{Monotonic{}};
};

bool SingleRouter::learn(Node* node, const Target&, const Outcome& outcome) {
  if (outcome.failure != Failure::kReadOnly &&
      outcome.failure != Failure::kMasterDown) {
    return false;
  }
  if (!take_turn(&next_drop_, steady_now(), kBetweenDrops)) return false;
  node->drop_connections(outcome.failure, "the server has become a replica");
  return true;
}

// The servers of the host's client.  It finds the right one by itself; in a
// cluster it needs calls whose keys lie in one slot.
class ClientRouter final : public Router {
 public:
  ClientRouter(const Settings& settings, Traffic* traffic)
      : is_cluster_(settings.url.topology == Topology::kCluster),
        protocol_(settings.login),
        node_(settings.url.endpoints.front(), protocol_, traffic) {}

  Node* route(const Target&) override { return &node_; }
  bool learn(Node*, const Target&, const Outcome&) override { return false; }
  void for_each(const std::function<void(Node*)>& visit) override {
    visit(&node_);
  }
  std::int32_t slot_of(std::string_view key) const override {
    return is_cluster_ ? redis::slot_of(key) : 0;
  }

 private:
  const bool is_cluster_;
  const RedisProtocol protocol_;
  Node node_;
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
