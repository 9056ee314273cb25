// Redis stores as fixtures of StoreCases.  Server::settings() returns the
// settings of one more store, with its own key prefix, on a server that the
// whole suite shares.

#pragma once

#include <memory>

#include "core/store/manual_clock.hpp"
#include "store/decorators/deny_cache.hpp"
#include "store/redis/redis_store.hpp"

namespace limitree::redis {

template <typename Server>
class RedisFixture {
 public:
  Store* store() { return &store_; }
  void advance(Duration by) { clock_.advance(by); }

 private:
  ManualClock clock_;
  RedisStore store_{Server::settings(), clock_.clock()};
};

// Behind a deny cache, which a limiter has by default.
template <typename Server>
class CachedFixture {
 public:
  Store* store() { return &store_; }
  void advance(Duration by) { clock_.advance(by); }

 private:
  ManualClock clock_;
  DenyCache store_{
      std::make_unique<RedisStore>(Server::settings(), clock_.clock()), 1000,
      clock_.clock()};
};

}  // namespace limitree::redis
