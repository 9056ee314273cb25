#include "store/redis/route/make_router.hpp"

#include <atomic>
#include <chrono>

#include "store/redis/route/cluster_router.hpp"
#include "store/redis/route/sentinel_router.hpp"

namespace limitree::redis {

namespace {

// The shortest time between two closings of a server's connections: while a
// name still leads to a replica, new ones end there too.
constexpr Duration kBetweenDrops = std::chrono::milliseconds(200);

// One server, at an address that does not change.
class SingleRouter final : public Router {
 public:
  SingleRouter(const Settings& settings, Traffic* traffic)
      : node_(settings.url.endpoints.front(), settings.login, traffic) {}

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

bool SingleRouter::learn(Node* node, const Target&, const Outcome& outcome) {
  if (outcome.failure != Failure::kReadOnly &&
      outcome.failure != Failure::kMasterDown) {
    return false;
  }
  const Monotonic now = std::chrono::steady_clock::now();
  Monotonic due = next_drop_.load(std::memory_order_relaxed);
  if (now < due || !next_drop_.compare_exchange_strong(
                       due, now + kBetweenDrops, std::memory_order_relaxed)) {
    return false;
  }
  node->drop_connections(outcome.failure, "the server has become a replica");
  return true;
}

}  // namespace

std::unique_ptr<Router> make_router(const Settings& settings,
                                    Traffic* traffic) {
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

}  // namespace limitree::redis
