#include "store/redis/wire/socket.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace limitree::redis {

int start_connecting(const SocketAddress& address) {
  const int family = address.bytes.ss_family;
  const int socket =
      ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return -1;
  if (family != AF_UNIX) {
    // A small command must not wait for the answer to the one before, and a
    // peer that vanished without a word must be noticed some day.
    const int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  }
  const auto* const target = reinterpret_cast<const sockaddr*>(&address.bytes);
  if (connect(socket, target, address.size) == 0 || errno == EINPROGRESS ||
      errno == EINTR) {
    return socket;
  }
  const int error = errno;
  close(socket);
  errno = error;
  return -1;
}

int connect_result(int socket) {
  pollfd watched{socket, POLLOUT, 0};
  if (poll(&watched, 1, 0) <= 0) return EINPROGRESS;
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
    return errno;
  }
  return error;
}

ssize_t send_some(int socket, std::string_view bytes) {
  while (true) {
    const ssize_t sent =
        send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0 || errno != EINTR) return sent;
  }
}

ssize_t receive_some(int socket, char* bytes, std::size_t size) {
  while (true) {
    const ssize_t received = recv(socket, bytes, size, MSG_DONTWAIT);
    if (received >= 0 || errno != EINTR) return received;
  }
}

std::string as_clause(std::string text) {
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  if (text.size() > 1 && text[0] >= 'A' && text[0] <= 'Z' &&
      (is_lower(text[1]) || text[1] == ' ')) {
    text[0] = static_cast<char>(text[0] - 'A' + 'a');
  }
  return text;
}

std::string error_text(int error) {
  return as_clause(std::system_category().message(error));
}

}  // namespace limitree::redis
