// From options to the store of a limiter, with the stores in front of it.

#pragma once

#include <memory>

#include "base/status.hpp"
#include "limiter/options.hpp"
#include "store/store.hpp"

namespace limitree {

// Makes the store of `options`.  A remote store is wrapped in a GuardedStore,
// that in a DenyCache, and that in a LeaseCache:
//
//   limiter -> leases -> deny cache -> on_store_error -> store
//
// The store of shm:// is wrapped in a GuardedStore only, unless the option
// `leases` says more: asking it costs no more than asking a cache.
//
// kInvalidConfig if the options contradict each other.  Does not connect, but
// opens the file of shm://: kStoreUnavailable if that fails.
Result<std::unique_ptr<Store>> make_store(const Options& options);

// Wraps `store` in these stores, if `options` ask for them.
std::unique_ptr<Store> behind_guards(std::unique_ptr<Store> store,
                                     const Options& options);

// The store in Redis, with nothing in front of it.  kInvalidConfig in a build
// without Redis: with_redis.cpp or without_redis.cpp is what is compiled.
Result<std::unique_ptr<Store>> make_redis_store(const Options& options);

// The same for memcached, which needs the same libraries.
Result<std::unique_ptr<Store>> make_memcached_store(const Options& options);

// The OpenSSL that TLS uses; empty in a build without Redis.  As in
// io/tls_policy.hpp, which such a build does not have.
const char* openssl_version();  // NOLINT

}  // namespace limitree
