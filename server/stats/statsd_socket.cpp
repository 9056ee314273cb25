#include "stats/statsd_socket.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "io/failure.hpp"
#include "io/loop.hpp"

namespace limitree::server {

namespace {

constexpr Duration kTimeout = kSecond;
constexpr Duration kFirstPause = kSecond;
constexpr Duration kLongestPause = 30 * kSecond;

struct FreeAddresses {
  void operator()(addrinfo* first) const { freeaddrinfo(first); }
};

// Whether `fd` is ready for `events` by `deadline`; errno says why not.
bool wait_for(int fd, short events, Monotonic deadline) {
  pollfd one{fd, events, 0};
  for (;;) {
    const Duration left = deadline - steady_now();
    const int count =
        poll(&one, 1,
             static_cast<int>(std::max(left, Duration::zero()) / kMillisecond));
    if (count > 0) return true;
    if (count == 0) {
      errno = ETIMEDOUT;
      return false;
    }
    if (errno != EINTR) return false;
  }
}

}  // namespace

StatsdSocket::StatsdSocket(StatsProtocol protocol, std::string host,
                           std::uint16_t port)
    : protocol_(protocol), host_(std::move(host)), port_(port) {}

void StatsdSocket::fail(const std::string& why) {
  trouble_ = host_ + ":" + std::to_string(port_) + ": " + why;
  fd_.reset();
}

bool StatsdSocket::open() {
  if (is_connected()) return true;
  if (steady_now() < next_attempt_) return false;
  if (connect()) {
    pause_ = Duration::zero();
    return true;
  }
  pause_ = std::clamp(2 * pause_, kFirstPause, kLongestPause);
  next_attempt_ = after(steady_now(), pause_);
  return false;
}

// A server that has closed its side would not read what is sent.
bool StatsdSocket::is_connected() {
  if (!fd_) return false;
  char ignored[256];
  ssize_t size = 0;
  while ((size = recv(fd_.get(), ignored, sizeof ignored, MSG_DONTWAIT)) > 0) {
  }
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  fail(size == 0 ? "the server has closed the connection" : error_text(errno));
  return false;
}

bool StatsdSocket::connect() {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype =
      protocol_ == StatsProtocol::kTcp ? SOCK_STREAM : SOCK_DGRAM;
  addrinfo* first = nullptr;
  const int error =
      getaddrinfo(host_.c_str(), std::to_string(port_).c_str(), &hints, &first);
  const std::unique_ptr<addrinfo, FreeAddresses> addresses(first);
  if (error != 0) {
    fail(error == EAI_SYSTEM ? error_text(errno) : gai_strerror(error));
    return false;
  }
  for (const addrinfo* one = first; one != nullptr; one = one->ai_next) {
    if (connect_to(*one)) return true;
  }
  return false;
}

bool StatsdSocket::connect_to(const addrinfo& address) {
  fd_ = Fd(socket(address.ai_family,
                  address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                  address.ai_protocol));
  int error = 0;
  if (!fd_) {
    error = errno;
  } else if (::connect(fd_.get(), address.ai_addr, address.ai_addrlen) != 0) {
    error = errno;
    if (error == EINPROGRESS) {
      const bool ready =
          wait_for(fd_.get(), POLLOUT, after(steady_now(), kTimeout));
      error = errno;
      socklen_t size = sizeof error;
      if (ready) getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    }
  }
  if (error != 0) fail(error_text(error));
  return error == 0;
}

bool StatsdSocket::send(std::string_view lines) {
  if (!fd_) return false;
  if (protocol_ == StatsProtocol::kTcp) return send_stream(lines);
  const ssize_t size = ::send(fd_.get(), lines.data(), lines.size(),
                              MSG_DONTWAIT | MSG_NOSIGNAL);
  // The next datagram has its own chance.
  if (size < 0) {
    trouble_ = host_ + ":" + std::to_string(port_) + ": " + error_text(errno);
  }
  return size >= 0;
}

bool StatsdSocket::send_stream(std::string_view bytes) {
  const Monotonic deadline = after(steady_now(), kTimeout);
  while (!bytes.empty()) {
    const ssize_t size = ::send(fd_.get(), bytes.data(), bytes.size(),
                                MSG_DONTWAIT | MSG_NOSIGNAL);
    if (size >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(size));
    } else if (errno == EAGAIN) {
      if (wait_for(fd_.get(), POLLOUT, deadline)) continue;
      fail(error_text(errno));
      return false;
    } else if (errno != EINTR) {
      fail(error_text(errno));
      return false;
    }
  }
  return true;
}

// The name of a server of UDP is looked up each time: no error says that it has
// moved.
void StatsdSocket::finish() {
  if (protocol_ == StatsProtocol::kUdp) fd_.reset();
}

}  // namespace limitree::server
