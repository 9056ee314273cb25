// The system calls of a connection.

#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstddef>
#include <string_view>

#include "io/fd.hpp"
#include "io/timer.hpp"

namespace limitree {

// Where to connect to: an IPv4 or IPv6 address and port, or a Unix socket.
struct SocketAddress {
  sockaddr_storage bytes;
  socklen_t size = 0;
};

// Starts to connect without waiting.  Returns the socket, or none and errno.
Fd start_connecting(const SocketAddress& address);

// Whether a started connection is made: 0 if so, EINPROGRESS if not yet, or
// else why it could not be.
int connect_result(int socket);

// As send() and recv(), without waiting, SIGPIPE or EINTR: bytes moved, 0 for
// an orderly end (reading only), or -1 and errno; EAGAIN if it would have to
// wait.
ssize_t send_some(int socket, std::string_view bytes);
ssize_t receive_some(int socket, char* bytes, std::size_t size);

// As pipe(), with both ends non-blocking and closed on exec.  False and errno
// if it fails.
bool make_pipe(Fd* reads, Fd* writes);

// Whether there is something to do for `fd` before `deadline`.
bool wait_for(int fd, bool write, Monotonic deadline);

}  // namespace limitree
