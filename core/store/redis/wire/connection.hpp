// One connection to one server: a state machine over a non-blocking socket.
//
//   resolving -> connecting -> (TLS) -> greeting -> ready -> closed
//
// It never waits: whoever owns it watches fd() and calls run().  Commands may
// be pushed from the first moment; they are sent in one write when the greeting
// (AUTH, SELECT, CLIENT SETNAME) has been accepted.  Replies complete commands
// in the order of pushing, but that those of one script may pass those of
// another where several are sent as one: see gathering.hpp.
//
// Not for several threads at once.

#ifndef LIMITREE_STORE_REDIS_WIRE_CONNECTION_HPP
#define LIMITREE_STORE_REDIS_WIRE_CONNECTION_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "store/redis/facts/settings.hpp"
#include "store/redis/wire/command.hpp"

namespace limitree::redis {

class Connection {
 public:
  // Starts to connect; failures show as closed() at once or after a run().
  // `settings` and `login` must outlive it.
  Connection(const Endpoint& endpoint, const Settings& settings,
             const Login& login);

  // Completes what is queued with kCancelled.
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // What to watch, and what for; -1 if closed.  Both may change in run(): while
  // the name is resolved the descriptor is another one than the socket's.
  int fd() const;
  bool wants_write() const;  // reading is always wanted

  bool ready() const;                 // greeted; commands go out at once
  bool closed() const;                // every command has been completed
  Failure failure() const;            // why it is closed
  const std::string& detail() const;  // the same for people

  // Whether commands that had been sent were not answered when it closed.
  bool owed() const;

  // What it waits for until it is ready, for people; "" once it is.
  const char* waits_for() const;
  bool looks_up() const;  // the name's address

  // Grows with every step on the way to ready.
  std::uint32_t steps() const;

  // Queues a command; sends nothing yet.  If closed() it completes at once.
  // `asking`: the command is preceded by ASKING, in the same write.
  void push(Command* command, bool asking = false);

  // Forgets a command whose caller has gone: its answer is dropped when it
  // comes.  complete() is not called.  Returns whether bytes of it were sent.
  bool abandon(Command* command);

  // Sends what is queued, as far as the socket takes it.
  void flush();

  // Reads and completes what has been answered, after a step of connecting if
  // that is due, and flushes.
  void run();

  // Completes everything with `failure` and closes the socket.
  void close(Failure failure, std::string detail);

  // In the child of a fork(): forgets everything without a word to the server
  // (no shutdown, no TLS alert), for the socket is the parent's too.  No
  // command is completed.
  void abandon_after_fork();

  std::size_t in_flight() const;  // commands pushed and not completed
  std::size_t unsent() const;     // bytes queued and not yet written

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_WIRE_CONNECTION_HPP
