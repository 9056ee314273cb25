// What a build with LIMITREE_REDIS=OFF says instead.

#include "limiter/make_store.hpp"

namespace limitree {

Result<std::unique_ptr<Store>> make_redis_store(const Options&) {
  return Status(Code::kInvalidConfig,
                "store: this build of limitree has no Redis "
                "(LIMITREE_REDIS=OFF), there is memory://");
}

Result<std::unique_ptr<Store>> make_memcached_store(const Options&) {
  return Status(Code::kInvalidConfig,
                "store: this build of limitree has no memcached "
                "(LIMITREE_REDIS=OFF), there is memory://");
}

const char* openssl_version() { return ""; }

}  // namespace limitree
