#include "store/redis/wire/socket.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace limitree::redis {

namespace {

using Clock = std::chrono::steady_clock;

// How much longer than it wanted a caller may wait, for the sake of speed.
constexpr Duration kSlack = std::chrono::milliseconds(2);

bool let_block(int fd, Duration timeout) {
  const auto us =
      std::chrono::duration_cast<std::chrono::microseconds>(timeout).count();
  if (us <= 0) return false;  // would be for ever
  timeval time{};
  time.tv_sec = static_cast<time_t>(us / 1'000'000);
  time.tv_usec = static_cast<suseconds_t>(us % 1'000'000);
  if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time) != 0) {
    return false;
  }
  const int flags = fcntl(fd, F_GETFL);
  return flags != -1 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0;
}

}  // namespace

// ---- sockets ----------------------------------------------------------------

// Linux sets the flags as it makes a descriptor, so that no program that
// another thread starts at that moment gets it.  macOS cannot.
#if defined(__linux__)

namespace {
int new_socket(int family) {
  return socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}
}  // namespace

int make_pipe(int (&ends)[2]) { return pipe2(ends, O_CLOEXEC | O_NONBLOCK); }

#else

namespace {

void set_flags(int fd) {
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  fcntl(fd, F_SETFL, O_NONBLOCK);
}

int new_socket(int family) {
  const int made = socket(family, SOCK_STREAM, 0);
  if (made >= 0) set_flags(made);
  return made;
}

}  // namespace

int make_pipe(int (&ends)[2]) {
  if (pipe(ends) != 0) return -1;
  for (const int end : ends) set_flags(end);
  return 0;
}

#endif

int start_connecting(const SocketAddress& address) {
  const int family = address.bytes.ss_family;
  const int socket = new_socket(family);
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

// ---- waiting ----------------------------------------------------------------

bool wait_for(int fd, bool write, Monotonic deadline) {
  pollfd target{};
  target.fd = fd;
  target.events = write ? POLLIN | POLLOUT : POLLIN;
  const auto left =
      std::max<Duration>(deadline - Clock::now(), Duration::zero());
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

ReadEnd::ReadEnd(int socket) : fd_(fcntl(socket, F_DUPFD_CLOEXEC, 0)) {
  // The system rounds the wait of recv() up, on a busy machine by two or three
  // of its ticks of 4 ms.
  if (fd_ != -1) blocks_ = let_block(fd_, kBeat / 2);
}

// A look at the first byte that waits for it costs a third of what poll()
// costs.  To take the bytes at once would save one more call, but then nobody
// else could read on while this thread gets no processor.  The wait of recv()
// always takes about kBeat, so it is for callers that have that much time.
bool ReadEnd::wait(Monotonic until) const {
  if (!blocks_ || until - Clock::now() < kBeat - kSlack) {
    return wait_for(fd_, false, until);
  }
  char first = 0;
  const ssize_t received = recv(fd_, &first, 1, MSG_PEEK);
  return received >= 0 || (errno != EAGAIN && errno != EINTR);
}

void ReadEnd::hang_up() const { shutdown(fd_, SHUT_RDWR); }

void ReadEnd::close() {
  if (fd_ != -1) ::close(fd_);
  fd_ = -1;
}

}  // namespace limitree::redis
