#include "store/redis/route/router.hpp"

#include "store/redis/route/cluster_router.hpp"
#include "store/redis/route/sentinel_router.hpp"
#include "store/redis/route/single_router.hpp"

namespace limitree::redis {

std::unique_ptr<Router> make_router(const Settings& settings,
                                    Traffic* traffic) {
  switch (settings.url.topology) {
    case Topology::kSentinel:
      return std::make_unique<SentinelRouter>(settings, traffic);
    case Topology::kCluster:
      return std::make_unique<ClusterRouter>(settings, traffic);
    case Topology::kSingle:
      break;
  }
  return std::make_unique<SingleRouter>(settings, traffic);
}

}  // namespace limitree::redis
