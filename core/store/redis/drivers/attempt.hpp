// What both drivers do with one attempt to carry out a command: they check its
// reply, report it, and decide whether to send the command again, and where.

#ifndef LIMITREE_STORE_REDIS_DRIVERS_ATTEMPT_HPP
#define LIMITREE_STORE_REDIS_DRIVERS_ATTEMPT_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "base/time.hpp"
#include "store/redis/common/node.hpp"
#include "store/redis/common/settings.hpp"
#include "store/redis/route/task.hpp"
#include "store/redis/wire/command.hpp"

namespace limitree::redis {

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

class Retry {
 public:
  // Starts with a new command, for the keys of `place`.
  void begin(const Place& place);

  const Target& target() const { return target_; }

  // The step that sends the command again, if it had no effect and another
  // attempt may: at another node, or a little later.  Nothing otherwise.
  std::optional<Task::Step> after(const Outcome& outcome);

  // One more attempt, for a reason of the caller's.
  bool may_repeat() { return ++attempts_ < kMaxAttempts; }

  // The outcome as the failure of the whole call.  If it is unknown, the
  // command may have been carried out: kStoreTimeout, whatever broke, unless
  // the server's answer makes no sense.
  Status failure(const Outcome& outcome, const Settings& settings) const;

 private:
  // A cluster that moves slots asks for two or three attempts, as a failover
  // does; the deadline ends the rest.
  static constexpr std::int32_t kMaxAttempts = 32;

  Target target_;
  std::int32_t attempts_ = 0;
};

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_DRIVERS_ATTEMPT_HPP
