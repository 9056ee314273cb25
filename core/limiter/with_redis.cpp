// What a build with Redis and memcached can do.

#include <optional>
#include <string>
#include <utility>

#include "limiter/make_store.hpp"
#include "store/memcached/memcached_store.hpp"
#include "store/redis/redis_store.hpp"
#include "store/redis/wire/greeting.hpp"
#include "store/remote/wire/tls_certificates.hpp"

namespace limitree {

namespace {

Status load_certificates(bool tls, remote::Settings* settings) {
  if (!tls) return {};
  try {
    settings->certificates =
        std::make_shared<remote::TlsCertificates>(settings->tls);
  } catch (const Failure& failure) {
    return invalid_config(failure.what());
  }
  return {};
}

// Reads the files, so that a mistake shows at the start.
Status read_files(redis::Settings* settings) {
  const char* name = "password_file: ";
  try {
    redis::with_password(settings->login);
    name = "sentinel_password_file: ";
    redis::with_password(settings->sentinel_login);
  } catch (const Failure& failure) {
    return invalid_config(name + std::string(failure.what()));
  }
  return load_certificates(settings->url.tls, settings);
}

// `all` as it is for limits of a second.
redis::Settings for_per_second(const redis::Settings& all,
                               redis::Settings other) {
  redis::Settings settings = all;
  settings.url = std::move(other.url);
  settings.tls = std::move(other.tls);
  settings.login = std::move(other.login);
  settings.sentinel_login = std::move(other.sentinel_login);
  settings.login.client_name = all.login.client_name;
  settings.sentinel_login.client_name = all.sentinel_login.client_name;
  if (other.connect_timeout > Duration::zero()) {
    settings.connect_timeout = other.connect_timeout;
  }
  return settings;
}

// Whether two settings lead to the same buckets in the same way.
bool are_same(const redis::Settings& a, const redis::Settings& b) {
  return a.url == b.url && a.tls == b.tls && a.login == b.login &&
         a.sentinel_login == b.sentinel_login;
}

}  // namespace

Result<std::unique_ptr<Store>> make_redis_store(const Options& options) {
  redis::Settings settings = options.redis_settings;
  if (Status status = read_files(&settings); !status.ok()) return status;
  if (options.per_second) {
    redis::Settings other =
        for_per_second(options.redis_settings, *options.per_second);
    if (!are_same(other, settings)) {
      if (Status status = read_files(&other); !status.ok()) {
        return invalid_config("per_second_store: " + status.message());
      }
      settings.per_second =
          std::make_shared<const redis::Settings>(std::move(other));
    }
  }
  std::optional<Clock> clock;
  if (options.clock.is_callers()) clock = options.clock;
  return std::unique_ptr<Store>(
      std::make_unique<redis::RedisStore>(std::move(settings), clock));
}

Result<std::unique_ptr<Store>> make_memcached_store(const Options& options) {
  memcached::Settings settings{options.redis_settings, options.memcached_url};
  Status status = load_certificates(settings.url.tls, &settings);
  if (!status.ok()) return status;
  return std::unique_ptr<Store>(std::make_unique<memcached::MemcachedStore>(
      std::move(settings), options.clock));
}

}  // namespace limitree
