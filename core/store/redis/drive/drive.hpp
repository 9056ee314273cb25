// What the two drivers, callers who block and event loops, have in common.

#ifndef LIMITREE_STORE_REDIS_DRIVE_DRIVE_HPP
#define LIMITREE_STORE_REDIS_DRIVE_DRIVE_HPP

#include <cstdint>
#include <string_view>

#include "base/status.hpp"
#include "base/time.hpp"
#include "store/redis/facts/node.hpp"
#include "store/redis/route/task.hpp"
#include "store/redis/wire/command.hpp"

namespace limitree::redis {

// Times that a command which was not sent is routed again because the router
// has learnt something: as many redirections as a cluster's client follows.
inline constexpr std::int32_t kMaxRoutes = 5;

// Lets the task see the reply, if there is one: makes kNoDecision of one that
// the command cannot have.
void show_reply(Task* task, Outcome* outcome);

// Tells the node's health what became of a command that took `took`.  The
// end of a connection, and silence, are told by its Line: a command that was
// lost or had no answer in time is not one more piece of evidence.
void report(const Outcome& outcome, Duration took, Monotonic now, Node* node);

// Whether the connection turned out to be closed before anything was sent, as
// servers do with idle ones: a fresh one will do.
bool is_stale(const Outcome& outcome);

// The outcome of a command that nobody could be found for.
Outcome no_route(const Status& failure);

// The outcome of a command whose deadline passed: it was sent, or there was no
// connection, for the reason `waits_for`.
Outcome timed_out(bool sent, std::string_view waits_for = "");

// The same if it could have been sent: who had to do it came too late.
Outcome came_late();

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_DRIVE_DRIVE_HPP
