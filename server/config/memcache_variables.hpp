// The variables of envoyproxy/ratelimit that say where its memcached servers
// are.

#pragma once

#include "config/environment.hpp"
#include "config/settings.hpp"

namespace limitree::server {

// All of them that have an effect, separated by blanks.
inline constexpr const char* kMemcacheVariables =
    "MEMCACHE_HOST_PORT MEMCACHE_SRV MEMCACHE_SRV_REFRESH MEMCACHE_TLS "
    "MEMCACHE_TLS_CACERT MEMCACHE_TLS_CLIENT_CERT MEMCACHE_TLS_CLIENT_KEY "
    "MEMCACHE_TLS_SKIP_HOSTNAME_VERIFICATION";

// Reads them if `wanted`, and else warns about those that are set.
void read_memcache(EnvironmentReader* reader, bool wanted,
                   StoreSettings* store);

}  // namespace limitree::server
