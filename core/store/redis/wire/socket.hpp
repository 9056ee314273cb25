// The few system calls of a connection, with errors as numbers and words.

#ifndef LIMITREE_STORE_REDIS_WIRE_SOCKET_HPP
#define LIMITREE_STORE_REDIS_WIRE_SOCKET_HPP

#include <sys/socket.h>
#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

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

// The text of another library in the middle of a message: without its capital,
// unless that belongs to an abbreviation.
std::string as_clause(std::string text);

// "connection refused" for ECONNREFUSED.
std::string error_text(int error);

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_WIRE_SOCKET_HPP
