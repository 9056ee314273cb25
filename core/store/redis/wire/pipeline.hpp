// The commands of one connection, from push() to their reply.
//
//   push -> (gathering ->) outbox -> sent, expected -> answered
//
// Commands that can be joined are gathered until the socket takes bytes, and
// put together then.  Replies come in the order of the outbox.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "store/redis/wire/resp.hpp"
#include "store/remote/wire/command.hpp"
#include "store/remote/wire/outbox.hpp"

namespace limitree::redis {

// Fewer of them are as fast by themselves.
inline constexpr std::size_t kFewestJoined = 4;
// With more, a server would be busy for too long without serving others.
inline constexpr std::size_t kMostJoined = 16;

// Several calls of one script as one command: what a server does for each call,
// to find the script and to ask for the time, it then does once for all.
class Joint final : public Command {
 public:
  // REQUIRES: all have the same script, and are forgotten only by abandon().
  explicit Joint(std::span<Command* const> commands)
      : commands_(commands.begin(), commands.end()) {
    write(false);
  }

  std::string_view bytes() const override { return bytes_; }

  // Completes each with its part of the reply, or all with what became of it.
  void complete(Outcome outcome) noexcept override;

  const std::vector<Command*>& commands() const { return commands_; }
  bool has(const Command* command) const;

  // Forgets one of them.
  void abandon(const Command* command);

  // Writes the call again, with the text of the script, for the commands that
  // still wait.  False: there is none, or the call has the text already.
  bool write_text();

  std::size_t size() const { return commands_.size(); }  // forgotten ones too

 private:
  void write(bool with_text);
  void complete_all(const Outcome& outcome) noexcept;

  std::vector<Command*> commands_;  // null: forgotten
  std::string bytes_;
  bool has_text_ = false;
};

// A reply that is due.
struct Expected {
  Command* command;     // null: nobody waits for it
  bool asking;          // to the ASKING before the next one
  std::uint64_t begin;  // where the bytes that it answers lie in the Outbox
  std::uint64_t end;
  std::unique_ptr<Joint> joint;  // the command, if it is one
};

// The replies that are due, in their order.
class ExpectedQueue {
 public:
  bool empty() const { return first_ == all_.size(); }
  Expected& front() { return all_[first_]; }
  // Numbers count from the first one that was ever pushed.  Null: it has gone.
  std::uint64_t end_number() const { return gone_ + all_.size(); }
  Expected* at(std::uint64_t number) {
    const bool here = number >= gone_ + first_ && number < end_number();
    return here ? &all_[number - gone_] : nullptr;
  }

  Expected* begin() { return all_.data() + first_; }
  Expected* end() { return all_.data() + all_.size(); }

  void push(Expected expected) { all_.push_back(std::move(expected)); }

  void pop() {
    ++first_;
    // What is left moves up when it is less than what has gone, so that each
    // moves once on average; and seldom, even in a short queue.
    const bool many_left = 2 * first_ < all_.size();
    if (!empty() && (first_ < 64 || many_left)) return;
    all_.erase(all_.begin(), all_.begin() + offset(begin()));
    gone_ += std::exchange(first_, 0);
  }

  void erase(Expected* from, Expected* to) {
    all_.erase(all_.begin() + offset(from), all_.begin() + offset(to));
  }

 private:
  std::ptrdiff_t offset(const Expected* at) const { return at - all_.data(); }

  std::vector<Expected> all_;
  std::size_t first_ = 0;
  std::uint64_t gone_ = 0;  // before all_[0]
};

// Commands that can be joined, until they can be sent: the more of them there
// are by then, the less each of them costs.
class Gathering {
 public:
  bool empty() const { return first_ == all_.size(); }
  std::size_t bytes() const;  // of the commands as they are

  // REQUIRES: command->joinable().
  void push(Command* command);
  // Room for so many more.
  void reserve(std::size_t count) { all_.reserve(all_.size() + count); }

  // False if it is not there.
  bool forget(const Command* command);

  // What is to be sent next: one command, or several as one.
  struct Next {
    Command* command;
    std::unique_ptr<Joint> joint;  // the command, if it is one
    std::size_t count;
  };
  Next next();
  void remove_front(std::size_t count);

  Command* pop();  // REQUIRES: !empty()

 private:
  struct One {
    Command* command;
    const Script* script;
  };

  std::vector<One> all_;
  std::size_t first_ = 0;
  bool sorted_ = true;
};

class Pipeline {
 public:
  // `asking`: preceded by ASKING.
  void push(Command* command, bool asking);

  // Forgets a command: its reply is dropped when it comes.  Returns whether
  // bytes of it were sent.
  bool abandon(const Command* command);

  // Puts together what has been gathered.
  void join();
  bool has_gathered() const { return !gathering_.empty(); }

  Outbox* outbox() { return &outbox_; }
  bool is_idle() const { return outbox_.empty() && gathering_.empty(); }

  // Whether a reply is due, to something that has been sent as a whole; or to
  // something that has been sent at least in part.
  bool expects_reply();
  bool has_sent();
  void answer(Reply reply);  // REQUIRES: expects_reply()

  // Completes everything; commands that were sent in part may have been carried
  // out.
  void fail(Failure failure, std::string_view detail) noexcept;

  std::size_t in_flight() const { return in_flight_; }  // not completed
  std::size_t unsent() const { return gathering_.bytes() + outbox_.size(); }

 private:
  void append(Command* command, std::unique_ptr<Joint> joint);
  void put(Expected expected, std::string_view bytes);
  Expected* find(const Command* command);
  static void set_place(const Expected& expected, std::uint64_t number);
  bool send_text(std::unique_ptr<Joint>* joint);
  void take_apart(const Joint& joint);

  Gathering gathering_;
  Outbox outbox_;
  ExpectedQueue expected_;
  Reply no_asking_;  // the error that ASKING before the next one got
  std::size_t in_flight_ = 0;
  bool joins_ = true;
};

}  // namespace limitree::redis
