#include "stats/statsd_socket.hpp"

#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "io/dialer.hpp"
#include "io/failure.hpp"
#include "io/loop.hpp"

namespace limitree::server {

namespace {

constexpr Duration kTimeout = kOneSecond;
constexpr Duration kFirstPause = kOneSecond;
constexpr Duration kLongestPause = 30 * kOneSecond;

}  // namespace

StatsdSocket::StatsdSocket(StatsProtocol protocol, Endpoint server)
    : protocol_(protocol), server_(std::move(server)) {}

void StatsdSocket::fail(const std::string& why, bool closes) {
  trouble_ = server_.text() + ": " + why;
  if (closes) fd_.reset();
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
  std::vector<SocketAddress> addresses;
  const std::string why = look_up(server_, type(), 0, &addresses);
  if (!why.empty()) fail(why);
  return std::ranges::any_of(addresses, [this](const SocketAddress& address) {
    return connect_to(address);
  });
}

bool StatsdSocket::connect_to(const SocketAddress& address) {
  fd_ = Fd(socket(address.bytes.ss_family, type() | SOCK_CLOEXEC, 0));
  const timeval timeout{kTimeout / kOneSecond, 0};
  // The timeout also applies to connect().
  if (fd_ &&
      setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout,
                 sizeof timeout) == 0 &&
      ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address.bytes),
                address.size) == 0) {
    return true;
  }
  fail(error_text(errno == EINPROGRESS ? ETIMEDOUT : errno));
  return false;
}

bool StatsdSocket::send(std::string_view lines) {
  if (!fd_) return false;
  const bool is_tcp = protocol_ == StatsProtocol::kTcp;
  const ssize_t size = ::send(fd_.get(), lines.data(), lines.size(),
                              MSG_NOSIGNAL | (is_tcp ? 0 : MSG_DONTWAIT));
  if (size == static_cast<ssize_t>(lines.size())) return true;
  // A part was sent before the timeout.  Over UDP the socket stays, because
  // each datagram may still arrive.
  fail(error_text(size >= 0 || errno == EAGAIN ? ETIMEDOUT : errno), is_tcp);
  return false;
}

// The name of a server of UDP is looked up each time: no error says that it has
// moved.
void StatsdSocket::finish() {
  if (protocol_ == StatsProtocol::kUdp) fd_.reset();
}

}  // namespace limitree::server
