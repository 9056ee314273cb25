// The system calls of a connection.

#ifndef LIMITREE_STORE_REDIS_WIRE_SOCKET_HPP
#define LIMITREE_STORE_REDIS_WIRE_SOCKET_HPP

#include <sys/socket.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <string_view>

#include "store/redis/common/health.hpp"

namespace limitree::redis {

// Where to connect to: an IPv4 or IPv6 address and port, or a Unix socket.
struct SocketAddress {
  sockaddr_storage bytes;
  socklen_t size = 0;
};

// Starts to connect without waiting.  Returns the socket, or -1 and errno.
int start_connecting(const SocketAddress& address);

// Whether a started connection is made: 0 if so, EINPROGRESS if not yet, or
// else why it could not be.
int connect_result(int socket);

// As send() and recv(), without waiting, SIGPIPE or EINTR: bytes moved, 0 for
// an orderly end (reading only), or -1 and errno; EAGAIN if it would have to
// wait.
ssize_t send_some(int socket, std::string_view bytes);
ssize_t receive_some(int socket, char* bytes, std::size_t size);

// As pipe(); both ends do not wait, and a program started later gets neither.
int make_pipe(int (&ends)[2]);

// Whether there is something to do for `fd` before `deadline`.
bool wait_for(int fd, bool write, Monotonic deadline);

// A copy of a connection's socket, for a thread that waits there for an answer.
//
// The connection belongs to all threads, and any of them may close it at any
// moment; the number of its descriptor may then belong to another file.  The
// copy stays valid as long as a thread holds it.
class ReadEnd {
 public:
  // How long a thread that blocks waits at a time, as a rule.
  static constexpr Duration kBeat = std::chrono::milliseconds(10);

  // Of `socket`, whose owner says with each call that it does not wait.
  explicit ReadEnd(int socket);
  ~ReadEnd() { close(); }
  ReadEnd(const ReadEnd&) = delete;
  ReadEnd& operator=(const ReadEnd&) = delete;

  // Whether the copy could be made.
  bool valid() const { return fd_ != -1; }

  // Whether there is something to read before `until`.
  bool wait(Monotonic until) const;

  // Ends the connection, and with it every wait().
  void hang_up() const;

  // In the child of a fork(): its holders are threads of the parent.
  void close();

 private:
  int fd_;
  bool blocks_ = false;  // recv() waits, for about kBeat
};

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_WIRE_SOCKET_HPP
