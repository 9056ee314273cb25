// The router for the topology of a store.

#ifndef LIMITREE_STORE_REDIS_ROUTE_MAKE_ROUTER_HPP
#define LIMITREE_STORE_REDIS_ROUTE_MAKE_ROUTER_HPP

#include <memory>

#include "store/redis/common/settings.hpp"
#include "store/redis/common/traffic.hpp"
#include "store/redis/route/router.hpp"

namespace limitree::redis {

// Everything must outlive it.
std::unique_ptr<Router> make_router(const Settings& settings, Traffic* traffic);

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_ROUTE_MAKE_ROUTER_HPP
