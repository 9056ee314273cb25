// Bytes to and from a server over a connected socket, in the clear or by TLS.

#ifndef LIMITREE_STORE_REDIS_WIRE_STREAM_HPP
#define LIMITREE_STORE_REDIS_WIRE_STREAM_HPP

#include <cstddef>
#include <optional>
#include <string>

#include "io/fd.hpp"
#include "io/tls_session.hpp"
#include "store/redis/common/failure.hpp"
#include "store/redis/wire/outbox.hpp"

namespace limitree::redis {

// Closes the socket without a word, so it may be destroyed in the child of a
// fork(), too.
class Stream {
 public:
  // Takes `socket`.  `tls` is null for a stream in the clear; the server's
  // certificate has to name `host`.
  Stream(Fd socket, const TlsClientContext* tls, const std::string& host);

  int fd() const { return socket_.get(); }

  // Whether bytes may be sent; before that, receive() carries on the handshake.
  bool established() const { return !tls_ || tls_->established(); }

  // Bytes of the handshake, or encrypted, that the socket did not take yet.
  std::size_t pending() const { return wire_.size(); }

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
  std::size_t receive_from_socket(char* bytes, std::size_t size);
  void check_tls();
  void fail(Failure failure, std::string detail);

  const Fd socket_;
  std::optional<TlsSession> tls_;
  Outbox wire_;  // with TLS: what it has to send
  Failure failure_ = Failure::kNone;
  std::string detail_;
};

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_WIRE_STREAM_HPP
