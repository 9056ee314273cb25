// What sentinels and nodes say about where servers are.
//
// Such replies decide which servers we connect to, so nothing in them is
// trusted: a reply that does not have the expected shape throughout is
// rejected.

#pragma once

#include <hiredis/hiredis.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "store/redis/common/url.hpp"

namespace limitree::redis {

// Whether `host` can be a name or an address, IPv6 without brackets.
bool is_host(std::string_view host);

// SENTINEL get-master-addr-by-name.
std::optional<Endpoint> read_primary(const redisReply& reply);

// SENTINEL SENTINELS: the other sentinels, without those that are down.
std::optional<std::vector<Endpoint>> read_sentinels(const redisReply& reply);

// ROLE: whether it is a primary.
bool is_primary(const redisReply& reply);
bool is_replica(const redisReply& reply);

// CLUSTER SLOTS.
struct SlotRange {
  std::int32_t first = 0;
  std::int32_t last = 0;        // included
  std::vector<Endpoint> nodes;  // the primary, then its replicas
};
// `asked` is the node that the reply came from: its host stands for one that
// is missing.  Replicas without an address are left out.
std::optional<std::vector<SlotRange>> read_slots(const redisReply& reply,
                                                 const Endpoint& asked);

// What a node of a cluster answers for a key that lies elsewhere.
struct Redirect {
  std::int32_t slot = 0;
  Endpoint endpoint;  // an empty host: that of the node that sent it
};

// Reads "MOVED 3999 127.0.0.1:6381" and "ASK ...", the host being a name, an
// IPv4 or a bare IPv6 address; nothing if `reply` is not such an error.
std::optional<Redirect> parse_redirect(const redisReply& reply);

}  // namespace limitree::redis
