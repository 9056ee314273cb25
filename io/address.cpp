#include "io/address.hpp"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <vector>

#include "base/digits.hpp"
#include "io/dialer.hpp"
#include "io/failure.hpp"

namespace limitree {

namespace {

constexpr int kBacklog = 4096;
constexpr std::string_view kUnix = "unix:";

[[noreturn]] void refuse(std::string_view text) {
  throw Failure(
      "'" + std::string(text) +
      "' is not an address such as 127.0.0.1:8081, [::1]:8081, :8081 or "
      "unix:/path");
}

in_port_t read_port(std::string_view text, std::string_view whole) {
  in_port_t port = 0;
  if (!read_digits(text, &port)) refuse(whole);
  return htons(port);
}

bool has_ipv6() {
  return static_cast<bool>(Fd(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)));
}

// Whether there is a Unix socket that no process serves any more.  Files of
// other kinds refuse connections, too.
bool is_abandoned(const ListenAddress& address) {
  struct stat found {};
  if (lstat(address.unix_path().c_str(), &found) != 0 ||
      !S_ISSOCK(found.st_mode)) {
    return false;
  }
  const Fd probe(
      socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return connect(probe.get(), address.get(), address.size()) != 0 &&
         errno == ECONNREFUSED;
}

void set_option(int fd, int level, int name, int value) {
  if (setsockopt(fd, level, name, &value, sizeof value) != 0) {
    throw Failure("socket", errno);
  }
}

void prepare(int fd, const ListenAddress& address) {
  if (address.is_unix()) {
    if (is_abandoned(address)) unlink(address.unix_path().c_str());
    return;
  }
  set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.family() == AF_INET6) {
    const auto* const in6 =
        reinterpret_cast<const sockaddr_in6*>(address.get());
    const bool any = IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr) != 0;
    set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, any ? 0 : 1);
  }
  // Connections inherit it.
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
}

Fd open_socket(const ListenAddress& address) {
  Fd fd(
      socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) throw Failure("socket", errno);
  prepare(fd.get(), address);
  return fd;
}

void start_listening(int fd, const ListenAddress& address) {
  if (bind(fd, address.get(), address.size()) != 0 ||
      listen(fd, kBacklog) != 0) {
    throw Failure("listen on " + address.text(), errno);
  }
}

}  // namespace

ListenAddress ListenAddress::parse_unix(std::string_view path) {
  ListenAddress address;
  auto* const un = reinterpret_cast<sockaddr_un*>(&address.storage_);
  if (path.empty() || path.size() >= sizeof un->sun_path ||
      path.find('\0') != path.npos) {
    throw Failure("the path of a Unix socket must have 1 to " +
                  std::to_string(sizeof un->sun_path - 1) + " bytes");
  }
  un->sun_family = AF_UNIX;
  std::memcpy(un->sun_path, path.data(), path.size());
  address.size_ =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return address;
}

ListenAddress ListenAddress::parse(std::string_view text) {
  if (text.starts_with(kUnix)) return parse_unix(text.substr(kUnix.size()));
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos) refuse(text);
  const in_port_t port = read_port(text.substr(colon + 1), text);
  std::string host(text.substr(0, colon));
  ListenAddress address;
  auto* const in = reinterpret_cast<sockaddr_in*>(&address.storage_);
  if (inet_pton(AF_INET, host.c_str(), &in->sin_addr) == 1) {
    in->sin_family = AF_INET;
    in->sin_port = port;
    address.size_ = sizeof *in;
    return address;
  }
  if (host.empty() && !has_ipv6()) return parse("0.0.0.0" + std::string(text));
  if (host.empty()) {
    host = "::";
  } else if (host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else {
    refuse(text);
  }
  auto* const in6 = reinterpret_cast<sockaddr_in6*>(&address.storage_);
  if (inet_pton(AF_INET6, host.c_str(), &in6->sin6_addr) != 1) refuse(text);
  in6->sin6_family = AF_INET6;
  in6->sin6_port = port;
  address.size_ = sizeof *in6;
  return address;
}

ListenAddress ListenAddress::of(int fd) {
  ListenAddress address;
  address.size_ = sizeof address.storage_;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address.storage_),
                  &address.size_) != 0) {
    throw Failure("socket", errno);
  }
  return address;
}

bool ListenAddress::is_loopback() const {
  if (family() == AF_INET) {
    const auto* const in = reinterpret_cast<const sockaddr_in*>(&storage_);
    return ntohl(in->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
  }
  if (family() != AF_INET6) return false;
  const auto* const in6 = reinterpret_cast<const sockaddr_in6*>(&storage_);
  return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr) != 0;
}

std::string ListenAddress::unix_path() const {
  return reinterpret_cast<const sockaddr_un*>(&storage_)->sun_path;
}

std::string ListenAddress::text() const {
  if (is_unix()) return std::string(kUnix) + unix_path();
  char host[INET6_ADDRSTRLEN] = "";
  if (family() == AF_INET) {
    const auto* const in = reinterpret_cast<const sockaddr_in*>(&storage_);
    inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
    return std::string(host) + ':' + std::to_string(ntohs(in->sin_port));
  }
  const auto* const in6 = reinterpret_cast<const sockaddr_in6*>(&storage_);
  inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof host);
  return '[' + std::string(host) + "]:" + std::to_string(ntohs(in6->sin6_port));
}

std::string address_of(const std::string& host, std::uint16_t port) {
  if (host.empty()) return Endpoint{host, port}.text();
  std::vector<SocketAddress> found;
  const std::string why = look_up({host, port}, SOCK_STREAM, 0, &found);
  if (found.empty()) throw Failure("'" + host + "': " + why);
  char text[INET6_ADDRSTRLEN] = "";
  getnameinfo(reinterpret_cast<const sockaddr*>(&found.front().bytes),
              found.front().size, text, sizeof text, nullptr, 0,
              NI_NUMERICHOST);
  return Endpoint{text, port}.text();
}

Endpoint parse_endpoint(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  Endpoint endpoint{text.substr(0, colon)};
  std::string& host = endpoint.host;
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  const bool has_host =
      !host.empty() && (bracketed || host.find(':') == host.npos);
  if (colon != text.npos && has_host &&
      read_digits(text.substr(colon + 1), &endpoint.port)) {
    return endpoint;
  }
  throw Failure("'" + text + "' is not a place such as localhost:18000");
}

Fd listen_on(const ListenAddress& address) {
  Fd fd = open_socket(address);
  start_listening(fd.get(), address);
  // From now on other sockets may join.  A socket without this option cannot
  // share the address, whatever options the others have.
  if (!address.is_unix()) set_option(fd.get(), SOL_SOCKET, SO_REUSEPORT, 1);
  return fd;
}

Fd listen_beside(const ListenAddress& address) {
  Fd fd = open_socket(address);
  set_option(fd.get(), SOL_SOCKET, SO_REUSEPORT, 1);
  start_listening(fd.get(), address);
  return fd;
}

void stop_connections(int listener) {
  constexpr std::uint32_t kFlags = 13;  // offset in the header of TCP
  constexpr std::uint32_t kSyn = 2;
  sock_filter drop_first[] = {BPF_STMT(BPF_LD | BPF_B | BPF_ABS, kFlags),
                              BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kSyn, 0, 1),
                              BPF_STMT(BPF_RET | BPF_K, 0),
                              BPF_STMT(BPF_RET | BPF_K, UINT32_MAX)};
  const sock_fprog program{std::size(drop_first), drop_first};
  // A system that does not allow it may lose such a connection.
  setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

Fd accept_from(int listener) {
  return Fd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

}  // namespace limitree
