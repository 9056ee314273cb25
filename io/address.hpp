// Where a service listens.

#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "io/endpoint.hpp"
#include "io/fd.hpp"

namespace limitree {

// An address and a port, or the path of a Unix socket.
class ListenAddress {
 public:
  // Reads "127.0.0.1:8081", "[::1]:8081", ":8081" (all addresses, IPv4 and
  // IPv6) or "unix:/run/limitree.sock".  Throws Failure, which says what is
  // wrong with the text.
  static ListenAddress parse(std::string_view text);

  bool is_unix() const { return family() == AF_UNIX; }
  // Of the loopback device.
  bool is_loopback() const;
  // Whether only this machine can connect.
  bool is_local() const { return is_unix() || is_loopback(); }
  int family() const { return storage_.ss_family; }
  const sockaddr* get() const {
    return reinterpret_cast<const sockaddr*>(&storage_);
  }
  socklen_t size() const { return size_; }
  std::string unix_path() const;
  // As parse() reads it.
  std::string text() const;

  // Where `fd` is bound: the port is known even if the system chose it.
  static ListenAddress of(int fd);

 private:
  static ListenAddress parse_unix(std::string_view path);

  sockaddr_storage storage_{};
  socklen_t size_ = 0;
};

// The text of an address of `host`, for parse(): a name is looked up, and an
// empty host means all addresses.  Throws Failure.
std::string address_of(const std::string& host, std::uint16_t port);

// Reads "localhost:18000" or "[::1]:18000".  Throws Failure.
Endpoint parse_endpoint(const std::string& text);

// A socket that listens and does not block.  A Unix socket that no process
// serves any more is replaced.  Throws Failure, also if another process listens
// there.
Fd listen_on(const ListenAddress& address);

// The same beside other sockets of this user, also of other processes, that
// listen on a TCP address already: the system spreads the connections.
Fd listen_beside(const ListenAddress& address);

// Lets no more connections begin on a TCP socket that is about to be closed.
// Clients try again after a second, and then reach the process that listens by
// then.  If the socket were closed without this call, connections that are
// being made would break.
void stop_connections(int listener);

// A connection of `listener` that does not block; none if no connection is
// waiting or accept() fails, and errno says why.
Fd accept_from(int listener);

}  // namespace limitree
