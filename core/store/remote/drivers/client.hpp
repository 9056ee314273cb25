// A client of the host, which knows the servers and keeps the connections.
//
// It takes the place of connections: commands go out by a function of the host,
// and answers come back by reply().  What to say, and for how long an answer
// counts, is decided as for connections of our own.
//
// May be used from several threads at once.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "store/remote/common/health.hpp"
#include "store/remote/common/node.hpp"
#include "store/remote/common/settings.hpp"
#include "store/remote/drivers/waiting.hpp"
#include "store/remote/drivers/wakeup.hpp"
#include "store/remote/route/task.hpp"
#include "store/remote/wire/command.hpp"

namespace limitree::remote {

class Client {
 public:
  // A command of which the answer counts.
  class Call {
   public:
    virtual ~Call() = default;

    std::uint64_t token() const { return token_; }

   private:
    friend class Client;

    // Takes the answer.  Called with the client's mutex held, after which
    // nothing refers to it any more.
    virtual Wakeup::Sleeper take(Outcome outcome) noexcept = 0;

    std::uint64_t token_ = 0;
    Monotonic sent_at_{};
  };

  // `node` stands for all servers of the client.  Everything must outlive it.
  Client(Node* node, const SendFunction& send) : node_(*node), send_(send) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Sends the task's command and waits for the answer, as ConnectionPool does.
  Outcome exchange(Task* task, Patience* patience);

  // The same in steps, for loops.  begin() gives the call its token, unless
  // nothing is to be sent now: then that is the outcome.  send() follows.
  std::optional<Outcome> begin(Call* call);
  void send(std::uint64_t token, std::string_view bytes,
            Duration time_left) noexcept;
  // False: the call has taken its answer.
  bool forget(const Call& call);
  // Shows the outcome to the task and reports it to the node.
  void settle(const Call& call, Task* task, Outcome* outcome);

  // The answer to a command; false if none waits for it, any more.
  bool reply(std::uint64_t token, Outcome outcome);

  // Guards what the loops of this client share with other threads.  A loop may
  // hold its own lock before.
  std::mutex& mutex() { return mutex_; }

  // Around fork(), after the loops.
  void before_fork() { mutex_.lock(); }
  void after_fork() { mutex_.unlock(); }
  // The commands under way are the parent's.
  void after_fork_in_child() {
    calls_.clear();
    mutex_.unlock();
  }

 private:
  class Waiter;

  // More of them cannot be answered within any sensible deadline.
  static constexpr std::size_t kMaxCalls = 16384;

  void report_end(const Call& call, const Outcome& outcome, Monotonic now);

  Node& node_;
  const SendFunction& send_;
  std::atomic<Monotonic> heard_{Monotonic{}};  // the last answer of a server
  std::mutex mutex_;
  std::uint64_t last_token_ = 0;                    // guarded by mutex_
  std::unordered_map<std::uint64_t, Call*> calls_;  // the same
};

}  // namespace limitree::remote
