// Redis stores as fixtures of StoreCases.

#pragma once

#include "core/store/remote_fixture.hpp"
#include "store/redis/redis_store.hpp"

namespace limitree::redis {

template <typename Server>
using RedisFixture = RemoteFixture<RedisStore, Server>;
template <typename Server>
using CachedFixture = CachedRemoteFixture<RedisStore, Server>;

}  // namespace limitree::redis
