#include "stats/statsd_socket.hpp"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "io/failure.hpp"
#include "io/loop.hpp"

namespace limitree::server {

namespace {

constexpr Duration kTimeout = kOneSecond;
constexpr Duration kFirstPause = kOneSecond;
constexpr Duration kLongestPause = 30 * kOneSecond;

struct FreeAddresses {
  void operator()(addrinfo* first) const { freeaddrinfo(first); }
};

}  // namespace

StatsdSocket::StatsdSocket(StatsProtocol protocol, std::string host,
                           std::uint16_t port)
    : protocol_(protocol), host_(std::move(host)), port_(port) {}

void StatsdSocket::fail(const std::string& why, bool closes) {
  trouble_ = host_ + ":" + std::to_string(port_) + ": " + why;
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
  fd_ = Fd(socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC,
                  address.ai_protocol));
  const timeval timeout{kTimeout / kOneSecond, 0};
  // The timeout also applies to connect().
  if (fd_ &&
      setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout,
                 sizeof timeout) == 0 &&
      ::connect(fd_.get(), address.ai_addr, address.ai_addrlen) == 0) {
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
