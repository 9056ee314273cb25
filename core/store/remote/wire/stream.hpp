// Bytes to and from a server over a connected socket, in the clear or by TLS.

#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "io/transport.hpp"
#include "store/remote/common/failure.hpp"
#include "store/remote/wire/outbox.hpp"

namespace limitree::remote {

class Stream {
 public:
  // Begins the handshake, if there is one.
  explicit Stream(std::unique_ptr<Transport> transport);

  int fd() const { return transport_->fd(); }

  // Whether bytes may be sent; before that, receive() carries on the handshake.
  bool established() const { return transport_->established(); }

  // Bytes that are encrypted, and that the socket did not take yet.
  std::size_t pending() const { return held_.size(); }
  // Whether these, or the handshake, wait for the socket.
  bool wants_write() const;

  // Sends these first, and then what is in *box; returns whether all of it has
  // been sent.  What has been encrypted counts as sent, because it cannot be
  // taken back.
  // REQUIRES: established(), or *box is empty.
  bool send(Outbox* box);

  // Reads up to `size` bytes; as many if there may be more to be read at once.
  // May be called after send() failed: what the server said is still there.
  std::size_t receive(char* bytes, std::size_t size);

  // Whether the stream has ended, properly or not.
  bool failed() const { return failure_ != Failure::kNone; }
  Failure failure() const { return failure_; }
  const std::string& detail() const { return detail_; }

 private:
  bool send_from(Outbox* box);
  void fail();

  const std::unique_ptr<Transport> transport_;
  Outbox held_;  // the text of pending(), for the next write
  Failure failure_ = Failure::kNone;
  std::string detail_;
};

}  // namespace limitree::remote
