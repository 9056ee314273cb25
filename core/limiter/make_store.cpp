#include "limiter/make_store.hpp"

namespace limitree {

Result<std::unique_ptr<Store>> make_store(const Options& options) {
  if (Status status = check_options(options); !status.ok()) return status;
  if (options.redis) {
    return Status(Code::kInvalidConfig,
                  "store: Redis is not supported by this version");
  }
  return std::unique_ptr<Store>(
      new MemoryStore(options.max_buckets, options.clock));
}

std::unique_ptr<Store> behind_guards(std::unique_ptr<Store> store,
                                     const Options& options) {
  std::unique_ptr<Store> local;
  if (options.on_store_error == OnStoreError::kLocal) {
    local = std::make_unique<MemoryStore>(options.max_buckets, options.clock);
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
