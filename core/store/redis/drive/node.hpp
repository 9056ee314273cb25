// One server, as callers that block see it: a few connections, shared.
//
// No thread belongs to it.  Whoever has sent a command and finds nobody reading
// on that connection reads, for all who wait there, until its own answer has
// come; then the next one that waits takes over.  While few commands are in
// flight a caller writes at once; otherwise it leaves its bytes to the reader,
// who writes for all with the next round ("flat combining": Hendler, Incze,
// Shavit, Tzafrir, SPAA 2010).  Handing work to a thread of our own would cost
// two wake-ups, more than the round trip.

#ifndef LIMITREE_STORE_REDIS_DRIVE_NODE_HPP
#define LIMITREE_STORE_REDIS_DRIVE_NODE_HPP

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/redis/drive/line.hpp"
#include "store/redis/drive/patience.hpp"
#include "store/redis/drive/task.hpp"
#include "store/redis/facts/health.hpp"
#include "store/redis/facts/settings.hpp"
#include "store/redis/wire/command.hpp"

namespace limitree::redis {

class Channel;  // channel.hpp

class Node {
 public:
  // Connects on first use.  `settings`, `login` and `traffic` must outlive it.
  Node(Endpoint endpoint, const Settings& settings, const Login& login,
       Traffic* traffic);
  ~Node();  // no call may be running
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const Endpoint& endpoint() const { return endpoint_; }
  const Server& server() const { return server_; }
  Health& health() { return health_; }

  // Sends the task's command and waits for the answer as long as `patience`
  // lasts; the task has seen the reply then, but not answered.  May be called
  // from any thread.  Reports to health() what it found.
  // kNotSent with kBackoff, at once, if health() says not to try.
  Outcome exchange(Task* task, Patience* patience);

  // Sends `bytes` and does not wait, unless an earlier one is still to be
  // answered.  A connection is made, and the answer read, by whatever call
  // comes later, this one included; then take_posted() returns it once.
  void post(std::string_view bytes);
  std::optional<Outcome> take_posted();

  // Closes connections: after a READONLY, or a failover.  Those who wait get
  // kUnknown or kNotSent with `failure`.
  void drop_connections(Failure failure, const std::string& detail);
  // How often that has been asked for: who has a connection of its own to this
  // server, as a Loop does, is to close that too.
  std::uint64_t drops() const { return drops_.load(std::memory_order_relaxed); }

  // Around fork(): take and release every lock.  after_fork_in_child() also
  // forgets the connections, their callers being threads of the parent.
  void before_fork();
  void after_fork_in_parent();
  void after_fork_in_child();

 private:
  Channel* join(std::uint64_t silent);
  Outcome attempt(const Task& task, Patience* patience);

  const Endpoint endpoint_;
  Traffic* const traffic_;
  Health health_;
  const Server server_;
  std::atomic<std::uint64_t> drops_{0};
  std::vector<std::unique_ptr<Channel>> channels_;  // as many as `connections`
};

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_DRIVE_NODE_HPP
