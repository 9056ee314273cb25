#include "limiter/make_store.hpp"

#include <optional>
#include <utility>

#include "store/redis/redis_store.hpp"
#include "store/redis/wire/tls.hpp"

namespace limitree {

namespace {

std::unique_ptr<Store> make_memory_store(const Options& options) {
  return std::make_unique<MemoryStore>(options.max_buckets, options.clock,
                                       options.max_bytes);
}

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
  return behind_guards(
      std::make_unique<redis::RedisStore>(std::move(settings), clock), options);
}

}  // namespace

Result<std::unique_ptr<Store>> make_store(const Options& options) {
  if (Status status = check_options(options); !status.ok()) return status;
  switch (options.store) {
    case StoreKind::kRedis:
      return make_redis_store(options);
    case StoreKind::kMemory:
      break;
  }
  return make_memory_store(options);
}

std::unique_ptr<Store> behind_guards(std::unique_ptr<Store> store,
                                     const Options& options) {
  std::unique_ptr<Store> local;
  if (options.on_store_error == OnStoreError::kLocal) {
    local = make_memory_store(options);
  }
  store = std::make_unique<GuardedStore>(
      std::move(store), options.on_store_error, std::move(local));
  if (options.deny_cache) {
    store = std::make_unique<DenyCache>(std::move(store),
                                        options.deny_cache_size, options.clock);
  }
  return store;
}

}  // namespace limitree
