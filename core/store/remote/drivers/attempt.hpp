// What both drivers do with one attempt to carry out a command: they check its
// reply and report it.

#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.hpp"
#include "base/time.hpp"
#include "store/remote/common/node.hpp"
#include "store/remote/route/task.hpp"
#include "store/remote/wire/command.hpp"

namespace limitree::remote {

// Times that a command which was not sent is routed again because the router
// has learnt something: as many redirections as a cluster's client follows.
inline constexpr std::int32_t kMaxRoutes = 5;

// Lets the task see the reply, if there is one: a reply that the command cannot
// have becomes kNoDecision.
void show_reply(Task* task, Outcome* outcome);

// Reports what a server answered: `failure` is that of the answer.
void report_answer(Failure failure, Monotonic now, Health* health);

// Reports to the node's health what became of a command that took `took`.  The
// connection itself reports its end and its silence: a command that was lost or
// had no answer in time adds no evidence.
void report(const Outcome& outcome, Duration took, Monotonic now, Node* node);

// Whether the connection was closed before anything was sent, as servers do
// with idle ones: a new connection will do.
bool is_stale(const Outcome& outcome);

// The outcome of a command for which no server was found.
Outcome no_route(const Status& failure);

// The outcome as the failure of a whole call to `where`.  If it is unknown, the
// command may have been carried out: kStoreTimeout, whatever broke, unless the
// server's answer makes no sense.
Status failure_of(const Outcome& outcome, std::string_view where);

}  // namespace limitree::remote
