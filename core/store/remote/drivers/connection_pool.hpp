// The connections to one server, shared by callers that block.
//
// No thread belongs to it.  A caller that has sent a command and finds no
// reader on that connection becomes the reader, for all callers that wait
// there, until its own answer has come; then the next caller that waits takes
// over.  While few commands are in flight a caller writes at once; otherwise it
// leaves its bytes to the reader, who writes for all with the next round ("flat
// combining": Hendler, Incze, Shavit, Tzafrir, SPAA 2010).  A thread of our own
// would cost two wake-ups for each command, more than the round trip.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/remote/common/node.hpp"
#include "store/remote/common/settings.hpp"
#include "store/remote/drivers/channel.hpp"
#include "store/remote/drivers/waiting.hpp"
#include "store/remote/route/task.hpp"
#include "store/remote/wire/command.hpp"

namespace limitree::remote {

class ConnectionPool final : public Node::Pool {
 public:
  // Connects on first use.  `node` and `settings` must outlive it.
  ConnectionPool(Node* node, const Settings& settings);
  ~ConnectionPool() override;  // no call may be running

  // Sends the task's command and waits for the answer as long as `patience`
  // lasts; the task has seen the reply then, but not answered.  May be called
  // from any thread.  Reports what it found to the node's health.
  // kNotSent with kBackoff, at once, if the health says not to try and no late
  // answer has come.
  Outcome exchange(Task* task, Patience* patience);

  // Sends `bytes` and does not wait, unless an earlier post is still to be
  // answered.  This call or a later one makes the connection and reads the
  // answer; then take_posted() returns it once.
  void post(std::string_view bytes);
  std::optional<Outcome> take_posted();

  void close(Failure failure, const std::string& detail) override;

  // Around fork(): take and release every lock.  after_fork_in_child() also
  // forgets the connections, whose callers are threads of the parent.
  void before_fork();
  void after_fork_in_parent();
  void after_fork_in_child();

 private:
  Channel* join(std::uint64_t silent);
  bool may_try(Monotonic now);
  Outcome attempt(const Task& task, Patience* patience);

  Node* const node_;
  std::vector<std::unique_ptr<Channel>> channels_;  // as many as `connections`
  std::atomic<Monotonic> next_look_{Monotonic::min()};  // for late answers
};

}  // namespace limitree::remote
