// What a connection says and hears, in the protocol of its server: the login,
// the commands that wait, and the replies.
//
// Not for several threads at once.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "store/remote/common/failure.hpp"
#include "store/remote/wire/command.hpp"
#include "store/remote/wire/outbox.hpp"

namespace limitree::remote {

// One for each time that a connection is made.
class Dialog {
 public:
  virtual ~Dialog() = default;

  // Appends the login to *out.  True: there is nothing to be answered.
  virtual bool greet(std::string* out) = 0;

  // Queues a command.  `asking`: as Target says.
  virtual void push(Command* command, bool asking) = 0;

  // Forgets a command: its reply is dropped when it comes.  Returns whether
  // bytes of it were sent.
  virtual bool abandon(const Command* command) = 0;

  // Some commands are gathered until the socket takes bytes: puts them into the
  // outbox.
  virtual void join() {}
  virtual bool has_gathered() const { return false; }

  virtual Outbox* outbox() = 0;

  // Whether a reply is due to something that has been sent at least in part.
  virtual bool has_sent() = 0;

  // Completes everything; commands that were sent in part may have been carried
  // out.
  virtual void fail(Failure failure, std::string_view detail) noexcept = 0;

  virtual std::size_t in_flight() const = 0;  // not completed
  virtual std::size_t unsent() const = 0;     // bytes

  // Takes bytes that have come.  next() is called until it returns kNothing or
  // kFailed, and before the next feed().
  virtual void feed(std::string_view bytes) = 0;

  enum class Event : std::uint8_t {
    kNothing,   // more bytes are needed
    kStep,      // a step of the login
    kReady,     // its last one
    kAnswered,  // a reply has come, or a part of one
    kFailed,    // the connection must be closed: failure() says why
  };
  virtual Event next() = 0;

  Failure failure() const { return failure_; }
  const std::string& detail() const { return detail_; }

 protected:
  Event fail_with(Failure failure, std::string detail) {
    failure_ = failure;
    detail_ = std::move(detail);
    return Event::kFailed;
  }

 private:
  Failure failure_ = Failure::kNone;
  std::string detail_;
};

// What the servers of a store speak, and how we log in there.
class Protocol {
 public:
  virtual ~Protocol() = default;
  virtual std::unique_ptr<Dialog> new_dialog() const = 0;
};

}  // namespace limitree::remote
