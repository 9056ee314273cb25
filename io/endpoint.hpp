// Where a server is.

#pragma once

#include <cstdint>
#include <string>

namespace limitree {

struct Endpoint {
  std::string host;  // a name or an address, without brackets
  std::uint16_t port = 0;
  std::string socket;  // a Unix socket's path; then host is empty

  // "host:port", "[::1]:6379" or the path.
  std::string text() const {
    if (!socket.empty()) return socket;
    const bool is_ipv6_address = host.find(':') != std::string::npos;
    return (is_ipv6_address ? "[" + host + "]" : host) + ":" +
           std::to_string(port);
  }

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

}  // namespace limitree
