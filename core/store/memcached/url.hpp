// Where a memcached store is: the URL forms of docs/memcached.md.
//
//   memcached://[user:password@]host[:port][,host[:port]...]
//   memcached+unix://[user:password@]/path/to/socket
//   memcached+srv://[user:password@]name[?refresh=seconds]
//
// memcacheds:// and memcacheds+srv:// use TLS.  Users and passwords, for
// memcached's own file of them (-Y), are percent-decoded.  IPv6 addresses stand
// in brackets.

#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "io/endpoint.hpp"

namespace limitree::memcached {

struct Url {
  bool tls = false;
  std::vector<Endpoint> endpoints;  // none if there is a name in `srv`
  std::string srv;                  // its SRV records name the servers
  // How long these are good for; zero: as long as they say.
  std::chrono::seconds refresh{};
  std::string user;
  std::string password;  // empty: no login
};

// Whether `text` has one of the schemes above.
bool is_memcached_url(std::string_view text);

// kInvalidConfig with what is wrong, never showing user or password.
Result<Url> parse_url(std::string_view text);

}  // namespace limitree::memcached
