// The primaries of a Redis Cluster, by slot.
//
// The map is asked for with CLUSTER SLOTS from one node after the other, those
// of the URL last.  MOVED corrects one slot at once and lets the whole map be
// asked for soon, without anybody waiting.  When a node is lost, the next call
// for its slots asks, because a replica may have taken its place.
//
// Replicas are asked for the map, but for nothing else.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/redis/route/discovery.hpp"
#include "store/redis/route/slot.hpp"
#include "store/redis/route/topology_reply.hpp"

namespace limitree::redis {

class ClusterRouter final : public DiscoveringRouter {
 public:
  // Between two maps that nobody waits for.
  static constexpr Duration kBetweenMaps = std::chrono::seconds(1);
  // The age at which a map is asked for again without any other reason.
  static constexpr Duration kOldestMap = std::chrono::seconds(60);
  // Between two losses of nodes that make calls ask for the map.
  static constexpr Duration kBetweenLosses = std::chrono::milliseconds(200);

  ClusterRouter(const Settings& settings, Traffic* traffic);

  Node* route(const Target& target) override;
  std::unique_ptr<Task> discovery() override;
  Check check_due(Node* node, Monotonic now) override;
  void checked(Node* node, const Outcome& outcome) override;
  bool learn(Node* node, const Target& target, const Outcome& outcome) override;
  std::int32_t slot_of(std::string_view key) const override;

 private:
  class MapDiscovery;

  // Which node is asked for the map that nobody waits for.
  enum class Wanted : std::uint8_t { kNo, kOfAnswering, kOfAnother };

  std::vector<Endpoint> to_ask() override;
  void move_to_back(const Endpoint& asked) override;
  DiscoveryFailure take_map(const redisReply& reply, const Endpoint& asked);

  bool moved(Node* node, const Outcome& outcome);
  void lost(Node* node);

  // With the mutex held.
  std::int32_t assign(const std::vector<SlotRange>& map);
  void remember(const std::vector<SlotRange>& map, const Endpoint& asked);

  const std::string ask_slots_;                        // the command
  const std::unique_ptr<std::atomic<Node*>[]> slots_;  // null: not known
  std::atomic<Node*> any_{nullptr};                    // for keyless commands
  std::atomic<Wanted> wanted_{Wanted::kNo};
  std::atomic<Monotonic> map_asked_{Monotonic{}};
  std::atomic<Monotonic> next_loss_{Monotonic{}};

  // Guarded by mutex_, as changes of slots_ are.
  std::vector<Endpoint> known_;  // in the order of asking
};

}  // namespace limitree::redis
