#include "store/redis/route/single_router.hpp"

namespace limitree::redis {

SingleRouter::SingleRouter(const Settings& settings, Traffic* traffic)
    : node_(settings.url.endpoints.front(), settings.login, traffic) {}

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

}  // namespace limitree::redis
