// The store with real servers: the cases that every store must pass, and cases
// that only this one can meet.

#include "store/memcached/memcached_store.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/store/manual_clock.hpp"
#include "core/store/memcached/memcached_server.hpp"
#include "core/store/store_cases.hpp"
#include "store/decorators/deny_cache.hpp"

namespace limitree::memcached {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

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
class MemcachedFixture {
 public:
  Store* store() { return &store_; }
  void advance(Duration by) { clock_.advance(by); }

 private:
  ManualClock clock_;
  MemcachedStore store_{Server::settings(), clock_.clock()};
};

template <typename Server>
class MemcachedCachedFixture {
 public:
  Store* store() { return &store_; }
  void advance(Duration by) { clock_.advance(by); }

 private:
  ManualClock clock_;
  DenyCache store_{
      std::make_unique<MemcachedStore>(Server::settings(), clock_.clock()),
      1000, clock_.clock()};
};

INSTANTIATE_TYPED_TEST_SUITE_P(Memcached, StoreCases,
                               MemcachedFixture<OneServer>);
INSTANTIATE_TYPED_TEST_SUITE_P(MemcachedServers, StoreCases,
                               MemcachedFixture<ThreeServers>);
INSTANTIATE_TYPED_TEST_SUITE_P(MemcachedCached, StoreCases,
                               MemcachedCachedFixture<OneServer>);

}  // namespace
}  // namespace limitree::memcached
