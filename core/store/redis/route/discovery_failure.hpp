// Why nobody could tell where the servers are.

#ifndef LIMITREE_STORE_REDIS_ROUTE_DISCOVERY_FAILURE_HPP
#define LIMITREE_STORE_REDIS_ROUTE_DISCOVERY_FAILURE_HPP

#include <cstdint>
#include <string>
#include <utility>

#include "base/status.hpp"
#include "store/redis/facts/failure.hpp"

namespace limitree::redis {

// Several are asked, and each may fail in its own way: what is told is the one
// that says most.
struct DiscoveryFailure {
  enum class Weight : std::uint8_t {
    kNone,
    kSilence,  // one that was asked did not answer
    kAnswer,   // it answered, but that does not help
    kServer,   // it named a server, and that one is no good
  };
  Weight weight = Weight::kNone;
  Failure failure = Failure::kNone;
  std::string where;
  std::string detail;

  // Takes `other` if it says more.
  void improve(DiscoveryFailure other) {
    if (other.weight > weight) *this = std::move(other);
  }

  // Ok if there is none.
  Status status() const {
    if (weight == Weight::kNone) return {};
    return to_status(failure, where, detail);
  }
};

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_ROUTE_DISCOVERY_FAILURE_HPP
