// What the two drivers, callers who block and event loops, have in common.

#ifndef LIMITREE_STORE_REDIS_DRIVE_HPP
#define LIMITREE_STORE_REDIS_DRIVE_HPP

#include <cstdint>

#include "base/status.hpp"
#include "base/time.hpp"
#include "store/redis/command.hpp"
#include "store/redis/health.hpp"
#include "store/redis/traffic.hpp"

namespace limitree::redis {

// Times that a command which was not sent is routed again because the router
// has learnt something: as many redirections as a cluster's client follows.
inline constexpr std::int32_t kMaxRoutes = 5;

// Tells `health` and `traffic` what became of a command that took `took`.
void report(const Outcome& outcome, Duration took, Monotonic now,
            Health* health, Traffic* traffic);

// Whether the connection turned out to be closed before anything was sent, as
// servers do with idle ones: a fresh one will do.
bool is_stale(const Outcome& outcome);

// The outcome of a command that nobody could be found for.
Outcome no_route(const Status& failure);

// The outcome of a command whose deadline passed.
Outcome timed_out(bool sent);

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_DRIVE_HPP
