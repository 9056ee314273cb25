#include "limiter/make_store.hpp"

#include <utility>

#include "store/decorators/lease_cache.hpp"
#include "store/shared/shared_store.hpp"

namespace limitree {

namespace {

std::unique_ptr<Store> make_memory_store(const Options& options) {
  return std::make_unique<MemoryStore>(options.max_buckets, options.clock,
                                       options.max_bytes);
}

Result<std::unique_ptr<Store>> open_shared_store(const Options& options) {
  return SharedStore::open({options.shared_url, options.max_buckets,
                            options.max_bytes, options.redis_settings.timeout,
                            options.clock});
}

// Puts on_store_error in front of a store.
std::unique_ptr<Store> behind_guard(std::unique_ptr<Store> store,
                                    const Options& options) {
  std::unique_ptr<Store> local;
  if (options.on_store_error == OnStoreError::kLocal) {
    local = make_memory_store(options);
  }
  return std::make_unique<GuardedStore>(
      std::move(store), options.on_store_error, std::move(local),
      GuardedStore::Logging{options.store_name, options.log, options.clock});
}

std::unique_ptr<Store> behind_leases(std::unique_ptr<Store> store,
                                     const Options& options) {
  return std::make_unique<LeaseCache>(std::move(store), options.clock);
}

}  // namespace

Result<std::unique_ptr<Store>> make_store(const Options& options) {
  if (Status status = check_options(options); !status.ok()) return status;
  switch (options.store) {
    case StoreKind::kRedis:
    case StoreKind::kMemcached: {
      Result<std::unique_ptr<Store>> store =
          options.store == StoreKind::kRedis ? make_redis_store(options)
                                             : make_memcached_store(options);
      if (!store.ok()) return store;
      return behind_guards(std::move(store.value()), options);
    }
    case StoreKind::kShared: {
      Result<std::unique_ptr<Store>> store = open_shared_store(options);
      if (!store.ok()) return store;
      store = behind_guard(std::move(store.value()), options);
      if (options.leases != Leases::kAlways) return store;
      return behind_leases(std::move(store.value()), options);
    }
    case StoreKind::kMemory:
      break;
  }
  return make_memory_store(options);
}

std::unique_ptr<Store> behind_guards(std::unique_ptr<Store> store,
                                     const Options& options) {
  store = behind_guard(std::move(store), options);
  if (options.deny_cache) {
    store = std::make_unique<DenyCache>(std::move(store),
                                        options.deny_cache_size, options.clock);
  }
  if (options.leases != Leases::kOff) {
    store = behind_leases(std::move(store), options);
  }
  return store;
}

}  // namespace limitree
