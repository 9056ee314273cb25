// What a build with Redis can do.

#include <optional>
#include <utility>

#include "limiter/make_store.hpp"
#include "store/redis/redis_store.hpp"
#include "store/redis/wire/tls.hpp"

namespace limitree {

Result<std::unique_ptr<Store>> make_redis_store(const Options& options) {
  redis::Settings settings = options.redis_settings;
  if (settings.url.tls) {
    Result<std::shared_ptr<const redis::TlsContext>> context =
        redis::TlsContext::make(settings.tls);
    if (!context.ok()) return std::move(context.status());
    settings.tls_context = std::move(context.value());
  }
  std::optional<Clock> clock;
  if (options.clock.is_callers()) clock = options.clock;
  return std::unique_ptr<Store>(
      std::make_unique<redis::RedisStore>(std::move(settings), clock));
}

const char* openssl_version() { return redis::openssl_version(); }

}  // namespace limitree
