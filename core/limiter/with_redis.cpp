// What a build with Redis can do.

#include <optional>
#include <utility>

#include "limiter/make_store.hpp"
#include "store/redis/redis_store.hpp"
#include "store/redis/wire/tls_certificates.hpp"

namespace limitree {

Result<std::unique_ptr<Store>> make_redis_store(const Options& options) {
  redis::Settings settings = options.redis_settings;
  if (settings.url.tls) {
    try {
      settings.certificates =
          std::make_shared<redis::TlsCertificates>(settings.tls);
    } catch (const Failure& failure) {
      return invalid_config(failure.what());
    }
  }
  std::optional<Clock> clock;
  if (options.clock.is_callers()) clock = options.clock;
  return std::unique_ptr<Store>(
      std::make_unique<redis::RedisStore>(std::move(settings), clock));
}

}  // namespace limitree
