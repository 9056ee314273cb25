// Which options go together.

#include <algorithm>
#include <string>
#include <string_view>

#include "limiter/option_values.hpp"
#include "limiter/options.hpp"

namespace limitree {

namespace {

Status mismatch(std::string_view name, std::string_view needs) {
  return refuse({name, {}}, "needs " + std::string(needs));
}

Status check_sizes(const Options& options) {
  const bool is_shared = options.store == StoreKind::kShared;
  const std::int64_t max_buckets =
      is_shared && options.shared_url.max_buckets != 0
          ? std::max(options.shared_url.max_buckets, options.max_buckets)
          : options.max_buckets;
  if (is_shared && max_buckets > shared::SharedUrl::kMaxBuckets) {
    return mismatch("store",
                    "max_buckets of at most " +
                        std::to_string(shared::SharedUrl::kMaxBuckets));
  }
  const std::int64_t least = MemoryStore::kLeastBytes * max_buckets;
  if (options.max_bytes != 0 && options.max_bytes < least) {
    return mismatch("max_bytes",
                    "64 for each of max_buckets, " + std::to_string(least));
  }
  return {};
}

Status check_tls(const TlsClientSettings& tls, bool used) {
  constexpr std::string_view kTls = "a store with TLS, such as rediss://";
  if (!used) {
    if (!tls.ca_file.empty()) return mismatch("tls_ca_file", kTls);
    if (!tls.cert_file.empty()) return mismatch("tls_cert_file", kTls);
    if (!tls.key_file.empty()) return mismatch("tls_key_file", kTls);
    if (!tls.server_name.empty()) return mismatch("tls_server_name", kTls);
    if (!tls.verify_name) return mismatch("tls_verify", kTls);
  }
  if (tls.cert_file.empty() != tls.key_file.empty()) {
    return tls.key_file.empty() ? mismatch("tls_cert_file", "tls_key_file")
                                : mismatch("tls_key_file", "tls_cert_file");
  }
  return {};
}

// `redis` is of the store, or of a part of it; `used`: the store is a Redis.
Status check_login(const redis::Settings& redis, bool used) {
  constexpr std::string_view kSentinel = "a store such as redis+sentinel://";
  const redis::Login& sentinel = redis.sentinel_login;
  if (!used || redis.url.topology != redis::Topology::kSentinel) {
    if (!sentinel.user.empty()) return mismatch("sentinel_username", kSentinel);
    if (!sentinel.password.empty()) {
      return mismatch("sentinel_password", kSentinel);
    }
    if (!sentinel.password_file.empty()) {
      return mismatch("sentinel_password_file", kSentinel);
    }
  }
  if (sentinel.has_two_passwords()) {
    return mismatch("sentinel_password_file", "no sentinel_password beside it");
  }
  if (!sentinel.user.empty() && !sentinel.has_password()) {
    return mismatch("sentinel_username", "sentinel_password");
  }
  if (!used) {
    return redis.login.password_file.empty()
               ? Status()
               : mismatch("password_file", "a store such as redis://");
  }
  if (redis.login.has_two_passwords()) {
    return mismatch("password_file", "a URL without a password");
  }
  if (!redis.login.user.empty() && !redis.login.has_password()) {
    return mismatch("store",
                    "a password for its user, as in "
                    "redis://user:password@host, or password_file");
  }
  if (redis.url.topology == redis::Topology::kCluster && redis.login.db != 0) {
    return mismatch("store", "database 0 in a cluster");
  }
  return {};
}

bool uses_tls(const Options& options) {
  switch (options.store) {
    case StoreKind::kRedis:
      return options.redis_settings.url.tls;
    case StoreKind::kMemcached:
      return options.memcached_url.tls;
    case StoreKind::kMemory:
    case StoreKind::kShared:
      break;
  }
  return false;
}

// A client has its own login, and knows one place.
Status check_client(const Options& options) {
  const redis::Settings& redis = options.redis_settings;
  if (options.store != StoreKind::kRedis || !redis.url.is_client) {
    return redis.client == nullptr
               ? Status()
               : mismatch("store", "no client of the program beside it");
  }
  constexpr std::string_view kUrl = "a store with a URL, such as redis://";
  if (options.per_second) return mismatch("per_second_store", kUrl);
  if (!redis.login.password_file.empty()) {
    return mismatch("password_file", kUrl);
  }
  return {};
}

Status check_server(const Options& options) {
  const redis::Settings& redis = options.redis_settings;
  const bool is_redis = options.store == StoreKind::kRedis;
  if (Status status = check_client(options); !status.ok()) return status;
  Status status = check_tls(redis.tls, uses_tls(options));
  if (status.ok()) status = check_login(redis, is_redis);
  if (!status.ok() || !options.per_second) return status;
  if (!is_redis)
    return mismatch("per_second_store", "a store such as redis://");
  const redis::Settings& other = *options.per_second;
  status = check_tls(other.tls, other.url.tls);
  if (status.ok()) status = check_login(other, true);
  return status.ok() ? Status()
                     : refuse({"per_second_store", {}}, status.message());
}

}  // namespace

Status check_options(const Options& options) {
  for (const auto check : {check_sizes, check_server}) {
    if (Status status = check(options); !status.ok()) return status;
  }
  return {};
}

}  // namespace limitree
