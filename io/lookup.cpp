// Names of hosts.

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <cerrno>
#include <memory>
#include <vector>

#include "io/address.hpp"
#include "io/failure.hpp"

namespace limitree {

namespace {

// A connection whose other side has vanished ends after a minute.
constexpr int kKeepaliveIdle = 30;
constexpr int kKeepaliveInterval = 10;
constexpr int kKeepaliveProbes = 3;

struct AddressesEnd {
  void operator()(addrinfo* addresses) const noexcept {
    freeaddrinfo(addresses);
  }
};

using Addresses = std::unique_ptr<addrinfo, AddressesEnd>;

Addresses look_up(const std::string& host, const char* port) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), port, &wanted, &found);
  if (error != 0) throw Failure("'" + host + "': " + gai_strerror(error));
  return Addresses(found);
}

void set_option(int fd, int level, int name, int value) {
  setsockopt(fd, level, name, &value, sizeof value);
}

// None if it fails at once, with errno.
Fd try_to_connect(const addrinfo& address) {
  Fd fd(
      socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return {};
  set_option(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd.get(), SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd.get(), IPPROTO_TCP, TCP_KEEPIDLE, kKeepaliveIdle);
  set_option(fd.get(), IPPROTO_TCP, TCP_KEEPINTVL, kKeepaliveInterval);
  set_option(fd.get(), IPPROTO_TCP, TCP_KEEPCNT, kKeepaliveProbes);
  if (connect(fd.get(), address.ai_addr, address.ai_addrlen) == 0 ||
      errno == EINPROGRESS) {
    return fd;
  }
  return {};
}

}  // namespace

std::string address_of(const std::string& host, int port) {
  std::string end = ':' + std::to_string(port);
  if (host.empty()) return end;
  const Addresses found = look_up(host, nullptr);
  char text[INET6_ADDRSTRLEN] = "";
  getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof text, nullptr, 0,
              NI_NUMERICHOST);
  const bool v6 = found->ai_family == AF_INET6;
  return (v6 ? '[' + std::string(text) + ']' : std::string(text)) + end;
}

std::pair<std::string, std::string> split_place(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  std::string host = text.substr(0, colon);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (colon == text.npos || host.empty() || colon + 1 == text.size() ||
      (!bracketed && host.find(':') != host.npos)) {
    throw Failure("'" + text + "' is no place such as localhost:18000");
  }
  return {host, text.substr(colon + 1)};
}

Fd connect_to(const std::string& host, const std::string& port,
              std::size_t first) {
  const Addresses found = look_up(host, port.c_str());
  std::vector<const addrinfo*> all;
  for (const addrinfo* one = found.get(); one != nullptr; one = one->ai_next) {
    all.push_back(one);
  }
  int error = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    Fd fd = try_to_connect(*all[(first + i) % all.size()]);
    if (fd) return fd;
    if (error == 0) error = errno;
  }
  throw Failure(error_text(error));
}

}  // namespace limitree
