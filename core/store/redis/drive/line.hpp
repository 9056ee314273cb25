// A connection that is made anew when it has been lost or has gone silent.
//
// It is the witness in the matter of the server's health: it tells of ends of
// connections and of silence, once for all commands that suffer by them.
//
// Both drivers keep their connections as lines: a Channel shares one among
// threads that block, an EventDriver has one for each node.  Like a Connection
// it never waits, and is not for several threads at once.

#ifndef LIMITREE_STORE_REDIS_DRIVE_LINE_HPP
#define LIMITREE_STORE_REDIS_DRIVE_LINE_HPP

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "store/redis/facts/node.hpp"
#include "store/redis/wire/connection.hpp"
#include "store/redis/wire/read_end.hpp"

namespace limitree::redis {

class Line {
 public:
  // Answers overdue for longer than this are not waited for any more.
  static constexpr Duration kLongestSilence = std::chrono::seconds(1);
  // A name server that does not answer costs the resolver five seconds before
  // it asks the next one.
  static constexpr Duration kLongestLookup = std::chrono::seconds(6);

  // Connects on first use.  Everything must outlive it.
  Line(Node* node, const Settings& settings);

  // Makes ready for a push(): connects if there is no connection, and gives up
  // one that has been silent or connecting for too long.  An attempt to connect
  // goes on whatever becomes of those who wanted it.
  //
  // `alone`: nobody reads from it.  Then answers that came too late for their
  // callers are read now.
  //
  // False: answers are overdue, and no command should join those that wait.
  bool prepare(Monotonic now, bool alone);

  // As those of Connection.  REQUIRES: prepare() has been called.
  void push(Command* command, bool asking, Monotonic now);
  bool abandon(Command* command);
  void flush();
  void run(Monotonic now);
  void close(Failure failure, const std::string& detail);
  void abandon_after_fork();

  bool open() const { return connection_ && !connection_->closed(); }
  bool ready() const { return connection_ && connection_->ready(); }
  int fd() const { return connection_ ? connection_->fd() : -1; }
  bool wants_write() const { return connection_ && connection_->wants_write(); }
  std::size_t in_flight() const {
    return connection_ ? connection_->in_flight() : 0;
  }
  std::size_t unsent() const { return connection_ ? connection_->unsent() : 0; }

  // Where a thread may wait for answers while others use the line; null if the
  // connection is not ready, or there are no more descriptors.
  std::shared_ptr<const ReadEnd> read_end();

  // How many connections have been made: tells one from the next.
  std::uint64_t generation() const { return generation_; }

  // For how long nothing has come though something was due.  What has come and
  // was not read yet is no silence: that is the reader's doing.
  Duration silence(Monotonic now) const;

  // The outcome of a command whose deadline has passed: timed out, or come too
  // late to be sent.  `sent`: what abandon() returned.
  Outcome expired(bool sent, Monotonic now);

 private:
  // How much silence is nothing unusual.
  Duration patience() const { return 2 * settings_.timeout; }
  const char* given_up(Monotonic now) const;
  bool overdue(Monotonic now);
  void connect(Monotonic now);
  void let_go_if_closed();
  void heed(Monotonic now);

  Node& node_;
  const Settings& settings_;
  std::optional<Connection> connection_;
  std::shared_ptr<ReadEnd> read_end_;
  std::uint64_t generation_ = 0;
  bool was_ready_ = false;
  bool reported_end_ = false;  // the server's health knows of the end
  std::uint32_t steps_ = 0;  // of the connection, when they were last looked at
  Monotonic heard_{};        // the last answer or step, or the first wait began
};

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_DRIVE_LINE_HPP
