// The commands of one connection, from their coming to their reply.
//
//   push -> (gathering ->) outbox -> sent, expected -> answered
//
// Commands that can be joined are gathered until the socket takes something,
// and put together then.  Replies come in the order of the outbox.

#ifndef LIMITREE_STORE_REDIS_WIRE_PIPELINE_HPP
#define LIMITREE_STORE_REDIS_WIRE_PIPELINE_HPP

#include <cstddef>
#include <memory>
#include <string>

#include "store/redis/wire/command.hpp"
#include "store/redis/wire/expected.hpp"
#include "store/redis/wire/gathering.hpp"
#include "store/redis/wire/outbox.hpp"

namespace limitree::redis {

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

  // Completes everything; what was sent in part has perhaps been carried out.
  void fail(Failure failure, const std::string& detail);

  std::size_t in_flight() const { return in_flight_; }  // not completed
  std::size_t unsent() const { return gathering_.bytes() + outbox_.size(); }

 private:
  void append(Command* command, std::unique_ptr<Joint> joint);
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

#endif  // LIMITREE_STORE_REDIS_WIRE_PIPELINE_HPP
