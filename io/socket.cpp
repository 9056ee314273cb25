#include "io/socket.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace limitree {

namespace {

// Linux sets the flags when it makes a descriptor, so that a program which
// another thread starts at that moment does not inherit it.  macOS cannot.
#if defined(__linux__)

Fd new_socket(int family) {
  return Fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

int new_pipe(int (&ends)[2]) { return pipe2(ends, O_CLOEXEC | O_NONBLOCK); }

#else

void set_flags(int fd) {
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  fcntl(fd, F_SETFL, O_NONBLOCK);
}

Fd new_socket(int family) {
  Fd made(socket(family, SOCK_STREAM, 0));
  if (made) set_flags(made.get());
  return made;
}

int new_pipe(int (&ends)[2]) {
  if (pipe(ends) != 0) return -1;
  for (const int end : ends) set_flags(end);
  return 0;
}

#endif

}  // namespace

bool make_pipe(Fd* reads, Fd* writes) {
  int ends[2];
  if (new_pipe(ends) != 0) return false;
  *reads = Fd(ends[0]);
  *writes = Fd(ends[1]);
  return true;
}

Fd start_connecting(const SocketAddress& address) {
  const int family = address.bytes.ss_family;
  Fd made = new_socket(family);
  if (!made) return {};
  if (family != AF_UNIX) {
    // A small command must not wait for the answer to the one before, and a
    // peer that vanished without closing must be noticed eventually.
    const int on = 1;
    setsockopt(made.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(made.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  }
  const auto* const target = reinterpret_cast<const sockaddr*>(&address.bytes);
  if (connect(made.get(), target, address.size) == 0 || errno == EINPROGRESS ||
      errno == EINTR) {
    return made;
  }
  const int error = errno;
  made.reset();
  errno = error;
  return {};
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

bool wait_for(int fd, bool write, Monotonic deadline) {
  pollfd target{};
  target.fd = fd;
  target.events = write ? POLLIN | POLLOUT : POLLIN;
  const auto left =
      std::max<Duration>(deadline - steady_now(), Duration::zero());
#if defined(__linux__)
  timespec time{};
  time.tv_sec = static_cast<time_t>(left.count() / 1'000'000'000);
  time.tv_nsec = static_cast<long>(left.count() % 1'000'000'000);
  return ppoll(&target, 1, &time, nullptr) > 0;
#else
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left);
  return poll(&target, 1, static_cast<int>(ms.count())) > 0;
#endif
}

}  // namespace limitree
