// Remote stores as fixtures of StoreCases.  Server::settings() returns the
// settings of one more store, with its own key prefix, on servers that the
// whole suite shares.

#pragma once

#include <memory>

#include "core/store/manual_clock.hpp"
#include "store/decorators/deny_cache.hpp"

namespace limitree {

template <typename RemoteStore, typename Server>
class RemoteFixture {
 public:
  Store* store() { return &store_; }
  void advance(Duration by) { clock_.advance(by); }

 private:
  ManualClock clock_;
  RemoteStore store_{Server::settings(), clock_.clock()};
};

// Behind a deny cache, which a limiter has by default.
template <typename RemoteStore, typename Server>
class CachedRemoteFixture {
 public:
  Store* store() { return &store_; }
  void advance(Duration by) { clock_.advance(by); }

 private:
  ManualClock clock_;
  DenyCache store_{
      std::make_unique<RemoteStore>(Server::settings(), clock_.clock()), 1000,
      clock_.clock()};
};

}  // namespace limitree
