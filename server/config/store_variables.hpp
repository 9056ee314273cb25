// The variables of envoyproxy/ratelimit that say where its Redis and memcached
// servers are.

#pragma once

#include "config/environment.hpp"
#include "config/settings.hpp"

namespace limitree::server {

// Those of Redis, separated by blanks.
inline constexpr const char* kRedisVariables =
    "REDIS_URL REDIS_TYPE REDIS_SOCKET_TYPE REDIS_AUTH REDIS_AUTH_FILE "
    "REDIS_SENTINEL_AUTH REDIS_SENTINEL_AUTH_FILE REDIS_TLS REDIS_TLS_CACERT "
    "REDIS_TLS_CLIENT_CERT REDIS_TLS_CLIENT_KEY "
    "REDIS_TLS_SKIP_HOSTNAME_VERIFICATION REDIS_TIMEOUT REDIS_PERSECOND";

// Those that need REDIS_PERSECOND.
inline constexpr const char* kPerSecondVariables =
    "REDIS_PERSECOND_URL REDIS_PERSECOND_TYPE REDIS_PERSECOND_SOCKET_TYPE "
    "REDIS_PERSECOND_AUTH REDIS_PERSECOND_AUTH_FILE "
    "REDIS_PERSECOND_SENTINEL_AUTH REDIS_PERSECOND_SENTINEL_AUTH_FILE "
    "REDIS_PERSECOND_TLS REDIS_PERSECOND_TIMEOUT";

// Reads them: the store, and the one for limits of a second, if there is one.
void read_redis(EnvironmentReader* reader, StoreSettings* store);

// Those of memcached that have an effect, separated by blanks.
inline constexpr const char* kMemcacheVariables =
    "MEMCACHE_HOST_PORT MEMCACHE_SRV MEMCACHE_SRV_REFRESH MEMCACHE_TLS "
    "MEMCACHE_TLS_CACERT MEMCACHE_TLS_CLIENT_CERT MEMCACHE_TLS_CLIENT_KEY "
    "MEMCACHE_TLS_SKIP_HOSTNAME_VERIFICATION";

// Reads them if `wanted`, and else warns about those that are set.
void read_memcache(EnvironmentReader* reader, bool wanted,
                   StoreSettings* store);

}  // namespace limitree::server
