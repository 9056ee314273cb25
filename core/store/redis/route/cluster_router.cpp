#include "store/redis/route/cluster_router.hpp"

#include <utility>

namespace limitree::redis {

namespace {

using Weight = DiscoveryFailure::Weight;

}  // namespace

// Asks the nodes in turn until one has a map.
class ClusterRouter::MapDiscovery final : public Discovery {
 public:
  explicit MapDiscovery(ClusterRouter* router)
      : Discovery(router, false), router_(*router) {}

  Step answered(Outcome outcome) override {
    if (outcome.failure != Failure::kNone) return pass_over(outcome);
    DiscoveryFailure failure = router_.take_map(redis_reply(outcome), asked());
    if (failure.weight == Weight::kNone) return {};
    return pass_over(std::move(failure));
  }
  std::string_view bytes() const override { return router_.ask_slots_; }

 private:
  ClusterRouter& router_;
};

ClusterRouter::ClusterRouter(const Settings& settings, Traffic* traffic)
    : DiscoveringRouter(settings, traffic),
      ask_slots_(command_of({"CLUSTER", "SLOTS"})),
      slots_(new std::atomic<Node*>[kSlots]()),
      known_(settings.url.endpoints) {
  shuffle(&known_);
}

Node* ClusterRouter::route(const Target& target) {
  Node* const owner = target.slot == Target::kNoSlot
                          ? any_.load(std::memory_order_acquire)
                          : slots_[static_cast<std::size_t>(target.slot)].load(
                                std::memory_order_acquire);
  if (!target.endpoint) return owner;
  if (!target.endpoint->host.empty()) return nodes_.at(*target.endpoint);
  // ASK without a host means the host of the owner, which sent it.
  if (owner == nullptr) return nullptr;
  Endpoint endpoint = *target.endpoint;
  endpoint.host = owner->endpoint().host;
  return nodes_.at(endpoint);
}

std::unique_ptr<Task> ClusterRouter::discovery() {
  if (holds_off()) return nullptr;
  map_asked_.store(steady_now(), std::memory_order_relaxed);
  return std::make_unique<MapDiscovery>(this);
}

std::vector<Endpoint> ClusterRouter::to_ask() {
  const std::lock_guard lock(mutex_);
  return known_;
}

void ClusterRouter::move_to_back(const Endpoint& asked) {
  const std::lock_guard lock(mutex_);
  const auto it = std::find(known_.begin(), known_.end(), asked);
  if (it != known_.end()) std::rotate(it, it + 1, known_.end());
}

DiscoveryFailure ClusterRouter::take_map(const redisReply& reply,
                                         const Endpoint& asked) {
  const auto map = read_slots(reply, asked);
  if (!map) {
    return {Weight::kAnswer, Failure::kProtocol, asked.text(),
            "this is not an answer to CLUSTER SLOTS"};
  }
  if (map->empty()) {
    return {Weight::kAnswer, Failure::kClusterDown, asked.text(),
            "this node knows of no slot that is served"};
  }
  const std::lock_guard lock(mutex_);
  const std::int32_t missing = assign(*map);
  remember(*map, asked);
  wanted_.store(Wanted::kNo, std::memory_order_relaxed);
  if (missing == 0) return {};
  // A caller that needs one of these slots should not ask again at once.
  failure_ = {Weight::kServer, Failure::kClusterDown, asked.text(),
              nodes_.full() ? "too many nodes have been named"
                            : std::to_string(missing) + " slots have no node"};
  hold_off_until(steady_now() + kHoldOff);
  return {};
}

// Returns how many slots have no node.
std::int32_t ClusterRouter::assign(const std::vector<SlotRange>& map) {
  std::vector<Node*> owners(kSlots);
  for (const SlotRange& range : map) {
    Node* const node = nodes_.at(range.nodes.front());
    std::fill(owners.begin() + range.first, owners.begin() + range.last + 1,
              node);
    if (node != nullptr) any_.store(node, std::memory_order_release);
  }
  std::int32_t missing = 0;
  for (std::size_t slot = 0; slot < owners.size(); ++slot) {
    slots_[slot].store(owners[slot], std::memory_order_release);
    if (owners[slot] == nullptr) ++missing;
  }
  return missing;
}

// The next to be asked is the one that has just answered, then the others of
// the map, and those of the URL if all of these are gone.
void ClusterRouter::remember(const std::vector<SlotRange>& map,
                             const Endpoint& asked) {
  std::vector<Endpoint> known;
  const auto add = [&known](const Endpoint& endpoint) {
    if (known.size() < static_cast<std::size_t>(NodeSet::kMaxNodes) &&
        std::find(known.begin(), known.end(), endpoint) == known.end()) {
      known.push_back(endpoint);
    }
  };
  for (const SlotRange& range : map) {
    for (const Endpoint& node : range.nodes) add(node);
  }
  shuffle(&known);
  const auto it = std::find(known.begin(), known.end(), asked);
  if (it != known.end()) std::rotate(known.begin(), it, it + 1);
  std::vector<Endpoint> given = settings_.url.endpoints;
  shuffle(&given);
  for (const Endpoint& endpoint : given) add(endpoint);
  known_ = std::move(known);
}

bool ClusterRouter::learn(Node* node, const Target& target,
                          const Outcome& outcome) {
  switch (outcome.failure) {
    case Failure::kMoved:
      return moved(node, outcome);
    case Failure::kAsk:
    case Failure::kTryAgain:
      return true;
    case Failure::kClusterDown:
    case Failure::kLoading:
    case Failure::kNoReplicas:
      // Other nodes may know where its slots are.
      wanted_.store(Wanted::kOfAnother, std::memory_order_relaxed);
      return true;
    default:
      // A target that names an endpoint would lead to the same one again.
      if (!is_gone(outcome.failure) || target.endpoint) return false;
      lost(node);
      return outcome.fate != Outcome::Fate::kUnknown && route(target) != node;
  }
}

bool ClusterRouter::moved(Node* node, const Outcome& outcome) {
  std::optional<Redirect> redirect = parse_redirect(redis_reply(outcome));
  if (!redirect) return false;
  if (redirect->endpoint.host.empty()) {
    redirect->endpoint.host = node->endpoint().host;
  }
  Node* const owner = nodes_.at(redirect->endpoint);
  if (owner == nullptr) return false;
  const std::lock_guard lock(mutex_);
  slots_[static_cast<std::size_t>(redirect->slot)].store(
      owner, std::memory_order_release);
  wanted_.store(Wanted::kOfAnswering, std::memory_order_relaxed);
  return true;
}

void ClusterRouter::lost(Node* node) {
  if (!take_turn(&next_loss_, steady_now(), kBetweenLosses)) return;
  move_to_back(node->endpoint());
  const std::lock_guard lock(mutex_);
  for (std::int32_t slot = 0; slot < kSlots; ++slot) {
    Node* owner = node;
    slots_[static_cast<std::size_t>(slot)].compare_exchange_strong(
        owner, nullptr, std::memory_order_acq_rel);
  }
  Node* any = node;
  any_.compare_exchange_strong(any, nullptr, std::memory_order_acq_rel);
}

Router::Check ClusterRouter::check_due(Node* node, Monotonic now) {
  const Wanted wanted = wanted_.load(std::memory_order_relaxed);
  Monotonic asked = map_asked_.load(std::memory_order_relaxed);
  const Duration between = wanted == Wanted::kNo ? kOldestMap : kBetweenMaps;
  if (now - asked < between || !map_asked_.compare_exchange_strong(
                                   asked, now, std::memory_order_relaxed)) {
    return {};
  }
  if (wanted != Wanted::kOfAnother) return {node, ask_slots_};
  move_to_back(node->endpoint());
  const std::vector<Endpoint> others = to_ask();
  return {nodes_.at(others.front()), ask_slots_};
}

void ClusterRouter::checked(Node* node, const Outcome& outcome) {
  if (outcome.failure == Failure::kNone &&
      take_map(redis_reply(outcome), node->endpoint()).weight ==
          Weight::kNone) {
    return;
  }
  move_to_back(node->endpoint());
  wanted_.store(Wanted::kOfAnother, std::memory_order_relaxed);
}

std::int32_t ClusterRouter::slot_of(std::string_view key) const {
  return redis::slot_of(key);
}

}  // namespace limitree::redis
