// One connection to a node: a state machine over a non-blocking socket, which
// connects again when the connection was lost or has gone silent.
//
//   closed -> looking up -> connecting -> (TLS) -> greeting -> ready -> closed
//
// A connection never waits: its owner watches fd() and calls run().  Commands
// may be pushed from the first moment; they are sent in one write when the
// server has accepted the greeting (AUTH, SELECT, CLIENT SETNAME).  Replies
// complete commands in the order of pushing, except that commands of one script
// may overtake those of another where several are sent as one call: see
// pipeline.hpp.
//
// The connection reports its end and its silence to the node's health, once for
// all commands that suffer from them.
//
// Not for several threads at once.

#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/dialer.hpp"
#include "store/remote/common/node.hpp"
#include "store/remote/common/settings.hpp"
#include "store/remote/wire/command.hpp"
#include "store/remote/wire/dialog.hpp"
#include "store/remote/wire/read_end.hpp"
#include "store/remote/wire/stream.hpp"

namespace limitree::remote {

class Connection {
 public:
  // A shorter time does not count as silence, however impatient callers are:
  // the server had no processor, or a slow command.
  static constexpr Duration kShortestSilence = std::chrono::milliseconds(250);
  // The connection gives up answers that are overdue for longer than this.
  static constexpr Duration kLongestSilence = std::chrono::seconds(1);
  // If a name server does not answer, the resolver takes five seconds before it
  // asks the next one.
  static constexpr Duration kLongestLookup = std::chrono::seconds(6);

  // Connects on the first prepare().  Everything must outlive it.
  Connection(Node* node, const Settings& settings);
  ~Connection();  // completes what is queued with kCancelled
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Makes ready for a push(): connects if it is closed, and gives up a
  // connection that has been silent or connecting for too long.  An attempt to
  // connect goes on whatever becomes of the callers that wanted it.
  //
  // `alone`: nobody reads from it.  Then it reads answers that came too late
  // for their callers.
  //
  // False: answers are overdue, and no command should join those that wait.
  bool prepare(Monotonic now, bool alone);

  // Connects again if it has been silent or connecting for too long.  REQUIRES:
  // what has come is read.
  void renew(Monotonic now);

  // Queues a command; sends nothing yet.  If closed, it completes at once.
  // `asking`: the command is preceded by ASKING, in the same write.
  void push(Command* command, bool asking, Monotonic now);

  // Forgets a command whose caller has gone: its answer is dropped when it
  // comes.  complete() is not called.  Returns whether bytes of it were sent.
  bool abandon(const Command* command) { return dialog_->abandon(command); }

  // Sends what is queued, as far as the socket takes it.
  void flush();

  // Reads and completes what has been answered, after a step of connecting if
  // that is due, and flushes.
  void run(Monotonic now);

  // Completes everything with `failure` and closes the socket.
  void close(Failure failure, std::string detail);

  // In the child of a fork(): forgets everything without a word to the server
  // (no shutdown, no TLS alert), because the parent owns the socket too.  No
  // command is completed.
  void abandon_after_fork();

  // What to watch, and what for; -1 if closed.  Both may change in run(): while
  // the name is looked up the descriptor is not the socket's.
  int fd() const;
  bool wants_write() const;  // reading is always wanted

  bool open() const { return state_ != State::kClosed; }
  bool ready() const { return state_ == State::kReady; }  // greeted
  Failure failure() const { return failure_; }            // why it was closed
  const std::string& detail() const { return detail_; }   // the same for people

  // What it waits for until it is ready, for people; "" once it is.
  const char* waits_for() const;

  std::size_t in_flight() const { return dialog_->in_flight(); }
  std::size_t unsent() const;  // bytes queued and not yet written

  // Where a thread may wait for answers while others use the connection; null
  // if it is not ready, or there are no more descriptors.
  std::shared_ptr<const ReadEnd> read_end();

  // How often it has connected: tells one socket from the next.
  std::uint64_t generation() const { return generation_; }

  // For how long nothing has come though something was due.  If bytes have come
  // and were not read yet, that is not silence: the reader was late.
  Duration silence(Monotonic now) const;

  // The outcome of a command whose deadline has passed: it timed out, or came
  // too late to be sent.  `sent`: what abandon() returned.
  Outcome expired(bool sent, Monotonic now);

 private:
  enum class State : std::uint8_t {
    kClosed,
    kDialing,
    kSecuring,
    kGreeting,
    kReady,
  };

  void connect(Monotonic now);
  void dial();
  std::unique_ptr<Transport> make_transport(Fd socket) const;
  void greet();
  bool looks_up() const { return dialer_ && !dialer_->wants_write(); }

  Duration usual_silence() const {
    return std::max<Duration>(2 * settings_.timeout, kShortestSilence);
  }
  const char* reason_to_give_up(Monotonic now) const;
  bool overdue(Monotonic now);
  void note_progress(Monotonic now);

  void look_before_sending();
  bool send(Outbox* box);

  void step();
  void receive();
  void deliver(std::string_view bytes);
  bool is_idle() const {
    return dialog_->outbox()->empty() && !dialog_->has_gathered();
  }
  void end(Failure failure, std::string detail);

  Node& node_;
  const Settings& settings_;

  State state_ = State::kClosed;
  Failure failure_ = Failure::kNone;
  std::string detail_;
  std::uint64_t generation_ = 0;
  bool was_ready_ = false;  // since the last connect()
  Monotonic ready_at_{};    // if so; real
  bool stepped_ = false;    // towards ready, since the last run()
  Monotonic heard_{};       // the last answer or step, or the first wait began

  std::optional<Dialer> dialer_;  // until there is a stream
  std::optional<Stream> stream_;
  Outbox hello_;  // the greeting
  std::unique_ptr<Dialog> dialog_;
  std::shared_ptr<ReadEnd> read_end_;
  std::int64_t last_traffic_ns_ = 0;
};

}  // namespace limitree::remote
