// What a node of a cluster says of a key that lies elsewhere.

#ifndef LIMITREE_STORE_REDIS_ROUTE_REDIRECT_HPP
#define LIMITREE_STORE_REDIS_ROUTE_REDIRECT_HPP

#include <hiredis/hiredis.h>

#include <cstdint>
#include <optional>

#include "store/redis/facts/url.hpp"

namespace limitree::redis {

struct Redirect {
  std::int32_t slot = 0;
  Endpoint endpoint;  // an empty host: that of the node that said so
};

// Reads "MOVED 3999 127.0.0.1:6381" and "ASK ...", the host being a name, an
// IPv4 or a bare IPv6 address; nothing if `reply` is no such error.
std::optional<Redirect> parse_redirect(const redisReply& reply);

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_ROUTE_REDIRECT_HPP
