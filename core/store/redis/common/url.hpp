// Where a Redis store is: the URL forms of docs/redis.md.
//
//   redis://[user[:password]@]host[:port][/db]    rediss:// with TLS
//   redis+unix://[user:password@]/path/to/socket[?db=0]
//   redis+sentinel://[user:password@]host[:port][,host[:port]...]/service[/db]
//   redis+cluster://[user:password@]host[:port][,host[:port]...]
//
// rediss+sentinel:// and rediss+cluster:// use TLS; "valkey" may stand for
// "redis" and "valkeys" for "rediss" in each.  Users and passwords are
// percent-decoded.  IPv6 addresses stand in brackets.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "io/endpoint.hpp"

namespace limitree::redis {

enum class Topology : std::uint8_t { kSingle, kSentinel, kCluster };

struct Url {
  Topology topology = Topology::kSingle;
  bool tls = false;
  std::vector<Endpoint> endpoints;  // one, or the sentinels or nodes to ask
  std::string service;              // what the sentinels call the primary
  std::string user;                 // empty: the default user
  std::string password;             // empty: none
  std::int32_t db = 0;
  bool is_client = false;  // the host's client has the servers: see client_url

  friend bool operator==(const Url&, const Url&) = default;
};

// Of a store whose commands are sent by a client of the host.  No text says so.
Url client_url(bool is_cluster);

// Whether `text` has one of the schemes above.
bool is_redis_url(std::string_view text);

// kInvalidConfig with what is wrong, never showing user or password.
Result<Url> parse_url(std::string_view text);

}  // namespace limitree::redis
