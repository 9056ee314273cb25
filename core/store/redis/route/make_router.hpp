// The router for the topology of a Redis store.

#pragma once

#include <memory>

#include "store/redis/common/settings.hpp"
#include "store/remote/common/traffic.hpp"
#include "store/remote/route/router.hpp"

namespace limitree::redis {

// Everything must outlive it.
std::unique_ptr<Router> make_router(const Settings& settings, Traffic* traffic);

}  // namespace limitree::redis
