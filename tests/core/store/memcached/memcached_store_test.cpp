// The store with real servers: the cases that every store must pass.

#include "store/memcached/memcached_store.hpp"

#include <gtest/gtest.h>

#include "core/store/memcached/memcached_server.hpp"
#include "core/store/remote_fixture.hpp"
#include "core/store/store_cases.hpp"

namespace limitree::memcached {
namespace {

struct OneServer {
  static Settings settings() {
    static MemcachedServer server;
    return store_settings("memcached://" + server.host());
  }
};

struct ThreeServers {
  static Settings settings() {
    static MemcachedServer first;
    static MemcachedServer second;
    static MemcachedServer third;
    return store_settings("memcached://" + first.host() + "," + second.host() +
                          "," + third.host());
  }
};

template <typename Server>
using MemcachedFixture = RemoteFixture<MemcachedStore, Server>;
template <typename Server>
using CachedFixture = CachedRemoteFixture<MemcachedStore, Server>;

INSTANTIATE_TYPED_TEST_SUITE_P(Memcached, StoreCases,
                               MemcachedFixture<OneServer>);
INSTANTIATE_TYPED_TEST_SUITE_P(MemcachedServers, StoreCases,
                               MemcachedFixture<ThreeServers>);
INSTANTIATE_TYPED_TEST_SUITE_P(MemcachedCached, StoreCases,
                               CachedFixture<OneServer>);

}  // namespace
}  // namespace limitree::memcached
