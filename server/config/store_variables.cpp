#include "config/store_variables.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/digits.hpp"
#include "net/text.hpp"

namespace limitree::server {

namespace {

constexpr Duration kMaxTimeout = 60 * kOneSecond;

// For user and password in a URL, and for its options.
std::string url_encoded(std::string_view text) {
  return percent_encoded(text, [](char one) {
    return is_letter(one) || is_digit(one) || one == '-' || one == '_' ||
           one == '.';
  });
}

// Adds an option of the library with the text of the variable, if it is set.
void copy_option(const std::string& name, const char* option,
                 EnvironmentReader* reader, Pairs* options) {
  if (const auto text = reader->text(name)) {
    reader->add_option(name, option, *text, options);
  }
}

// `system` is "REDIS".
void warn_of_certificates(const std::string& system,
                          EnvironmentReader* reader) {
  std::string names;
  for (const char* end :
       {"CACERT", "CLIENT_CERT", "CLIENT_KEY", "SKIP_HOSTNAME_VERIFICATION"}) {
    names += system + "_TLS_" + end + ' ';
  }
  reader->warn_unused(names, "without " + system + "_TLS");
}

void read_certificates(const std::string& system, EnvironmentReader* reader,
                       Pairs* options) {
  copy_option(system + "_TLS_CACERT", "tls_ca_file", reader, options);
  copy_option(system + "_TLS_CLIENT_CERT", "tls_cert_file", reader, options);
  copy_option(system + "_TLS_CLIENT_KEY", "tls_key_file", reader, options);
  const std::string skip = system + "_TLS_SKIP_HOSTNAME_VERIFICATION";
  if (reader->is_on(skip)) {
    reader->add_option(skip, "tls_verify", "authority", options);
  }
}

struct Login {
  std::string user;
  std::string password;
};

// "password" or "user:password".
Login login_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos) return {"", text};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

// Whether a URL names a password by itself.
bool has_password(std::string_view url) {
  const std::size_t scheme = url.find("://");
  const std::size_t at = url.rfind('@');
  if (scheme == url.npos || at == url.npos) return false;
  return url.substr(0, at).find(':', scheme + 3) != url.npos;
}

// Reads where a server is.  Its own variables begin with a prefix; those for
// certificates are for all servers.
class RedisReader {
 public:
  RedisReader(EnvironmentReader* reader, std::string prefix, std::string socket)
      : reader_(*reader),
        prefix_(std::move(prefix)),
        address_(std::move(socket)) {
    reader_.set(prefix_ + "URL", &address_);
    reader_.set(prefix_ + "TLS", &tls_);
  }

  StoreSettings read() {
    if (const auto text = secret("AUTH", "password_file")) {
      const auto [user, password] = login_of(*text);
      login_ = url_encoded(user) + ':' + url_encoded(password) + '@';
    }
    const std::size_t type =
        reader_.word(prefix_ + "TYPE", "SINGLE SENTINEL CLUSTER").value_or(0);
    if (type == 0) {
      read_single();
    } else {
      std::erase(address_, ' ');
      store_.url = "+cluster://" + login_ + address_;
      if (type == 1) read_sentinel();
      store_.url.insert(0, tls_ ? "rediss" : "redis");
    }
    if (tls_) read_certificates("REDIS", &reader_, &store_.options);
    return std::move(store_);
  }

  // Once it is read.
  bool has_tls() const { return tls_; }

  void add(const std::string& name, const std::string& option,
           const std::string& value) {
    reader_.add_option(name, option, value, &store_.options);
  }

 private:
  // The secret of the variable.  If it is in the file that NAME_FILE names, the
  // option `file_option` is the file, which is read for each connection.
  std::optional<std::string> secret(const char* suffix,
                                    const char* file_option) {
    const std::string name = prefix_ + suffix;
    std::optional<std::string> text = reader_.text(name);
    const std::optional<std::string> file = reader_.file_of(name);
    if (file && !has_password(address_)) {
      add(name + "_FILE", file_option, *file);
    }
    return text;
  }

  void read_single() {
    const std::size_t scheme = address_.find("://");
    if (scheme != address_.npos) {
      store_.url = address_;
      // A login in the URL takes precedence.
      if (address_.find('@') == address_.npos) {
        store_.url.insert(scheme + 3, login_);
      }
      const bool has_tls = address_.starts_with("rediss");
      if (tls_ && address_.starts_with("redis+unix:")) {
        refuse_tls();
      } else if (tls_ && !has_tls && address_.starts_with("redis")) {
        store_.url.insert(5, "s");  // what is secret must not be in the clear
      }
      tls_ |= has_tls;
      return;
    }
    const bool is_path = address_.starts_with('/');
    const auto type = reader_.word(prefix_ + "SOCKET_TYPE", "unix tcp");
    // envoyproxy/ratelimit assumes a path even if there is a host and a port.
    if (type == 1u || (!type && !is_path)) {
      store_.url = (tls_ ? "rediss://" : "redis://") + login_ + address_;
      return;
    }
    if (!is_path) {
      reader_.fail(prefix_ + "URL",
                   "must be the path of a socket from the root, because " +
                       prefix_ + "SOCKET_TYPE is unix");
    }
    if (tls_) refuse_tls();
    store_.url = "redis+unix://" + login_ + address_;
  }

  void refuse_tls() {
    reader_.fail(prefix_ + "TLS", "is not possible on a Unix socket");
  }

  void read_sentinel() {
    const std::size_t comma = address_.find(',');
    if (comma == address_.npos) {
      reader_.fail(prefix_ + "URL",
                   "must be the name of the primary, a comma and the sentinels "
                   "if " +
                       prefix_ + "TYPE is SENTINEL");
      return;
    }
    store_.url = "+sentinel://" + login_ + address_.substr(comma + 1) + '/' +
                 address_.substr(0, comma);
    const std::string name = prefix_ + "SENTINEL_AUTH";
    if (const auto text = secret("SENTINEL_AUTH", "sentinel_password_file")) {
      const auto [user, password] = login_of(*text);
      if (!user.empty()) add(name, "sentinel_username", user);
      add(name, "sentinel_password", password);
    }
  }

  EnvironmentReader& reader_;
  const std::string prefix_;
  std::string address_;
  std::string login_;
  bool tls_ = false;
  StoreSettings store_;
};

// The time of a variable as the options of the library take it.
std::optional<std::string> time_of(const char* name,
                                   EnvironmentReader* reader) {
  Duration wait{};
  if (!reader->set(name, &wait)) return std::nullopt;
  wait = std::clamp(wait, kMillisecond, kMaxTimeout);
  return std::to_string(wait / kMillisecond) + "ms";
}

// Checks the URL, unless something is wrong with it already.
void check_url(const char* name, const char* option, const std::string& url,
               std::size_t mistakes, EnvironmentReader* reader,
               Pairs* options) {
  if (reader->report().errors.size() != mistakes) return;
  reader->add_option(name, option, url, options);
}

// The URL of this store says all about it.  Returns whether it has TLS.
bool read_per_second(EnvironmentReader* reader, Pairs* options) {
  constexpr const char* kUrl = "REDIS_PERSECOND_URL";
  if (!reader->is_on("REDIS_PERSECOND")) {
    reader->warn_unused(kPerSecondVariables, "without REDIS_PERSECOND");
    return false;
  }
  const std::size_t mistakes = reader->report().errors.size();
  RedisReader redis(reader, "REDIS_PERSECOND_",
                    "/var/run/nutcracker/ratelimitpersecond.sock");
  StoreSettings store = redis.read();
  constexpr const char* kTimeout = "REDIS_PERSECOND_TIMEOUT";
  if (const auto time = time_of(kTimeout, reader)) {
    reader->add_option(kTimeout, "connect_timeout", *time, &store.options);
  }
  char mark = '?';
  for (const auto& [name, value] : store.options) {
    store.url += mark + name + '=' + url_encoded(value);
    mark = '&';
  }
  check_url(kUrl, "per_second_store", store.url, mistakes, reader, options);
  return redis.has_tls();
}

// ---- memcached
// ---------------------------------------------------------------

constexpr const char* kHosts = "MEMCACHE_HOST_PORT";
constexpr const char* kSrv = "MEMCACHE_SRV";
constexpr const char* kRefresh = "MEMCACHE_SRV_REFRESH";
constexpr const char* kTls = "MEMCACHE_TLS";
constexpr Duration kMostRefresh = 86'400 * kOneSecond;

class MemcacheReader {
 public:
  MemcacheReader(EnvironmentReader* reader, StoreSettings* store)
      : reader_(*reader), store_(*store), tls_(reader_.is_on(kTls)) {}

  void read() {
    const std::size_t mistakes = reader_.report().errors.size();
    const auto hosts = reader_.text(kHosts);
    const auto srv = reader_.text(kSrv);
    if (hosts && srv) {
      reader_.fail(kSrv, "and MEMCACHE_HOST_PORT exclude each other");
    } else if (srv) {
      read_srv(*srv);
    } else if (hosts) {
      read_hosts(*hosts);
    } else {
      reader_.fail(kHosts,
                   "or MEMCACHE_SRV is needed, because BACKEND_TYPE is "
                   "memcache");
    }
    if (!srv) reader_.warn_unused(kRefresh, "without MEMCACHE_SRV");
    if (reader_.report().errors.size() == mistakes) {
      Pairs unused;
      reader_.add_option(srv ? kSrv : kHosts, "store", store_.url, &unused);
    }
    if (tls_) {
      read_certificates("MEMCACHE", &reader_, &store_.options);
    } else {
      warn_of_certificates("MEMCACHE", &reader_);
    }
    copy_option("CACHE_KEY_PREFIX", "prefix", &reader_, &store_.options);
  }

 private:
  void read_srv(const std::string& name) {
    store_.url = scheme("+srv") + name;
    Duration refresh{};
    // In envoyproxy/ratelimit, 0 means never.  Here the answer itself says how
    // long it is good for.
    if (reader_.set(kRefresh, &refresh) && refresh > Duration::zero()) {
      const Duration used = std::clamp(refresh, kOneSecond, kMostRefresh);
      store_.url += "?refresh=" + std::to_string(used / kOneSecond);
    }
  }

  void read_hosts(std::string hosts) {
    std::erase(hosts, ' ');
    if (hosts.find('/') == hosts.npos) {
      store_.url = scheme("") + hosts;
      return;
    }
    if (hosts.find(',') != hosts.npos) {
      reader_.fail(kHosts, "a Unix socket must be the only server");
    }
    if (tls_) reader_.fail(kTls, "is not possible on a Unix socket");
    store_.url = "memcached+unix://" + hosts;
  }

  std::string scheme(const char* form) const {
    return (tls_ ? "memcacheds" : "memcached") + std::string(form) + "://";
  }

  EnvironmentReader& reader_;
  StoreSettings& store_;
  const bool tls_;
};

}  // namespace

void read_redis(EnvironmentReader* reader, StoreSettings* store) {
  const std::size_t mistakes = reader->report().errors.size();
  RedisReader redis(reader, "REDIS_", "/var/run/nutcracker/ratelimit.sock");
  *store = redis.read();
  Pairs unused;
  check_url("REDIS_URL", "store", store->url, mistakes, reader, &unused);
  if (const auto time = time_of("REDIS_TIMEOUT", reader)) {
    reader->add_option("REDIS_TIMEOUT", "timeout", *time, &store->options);
    reader->add_option("REDIS_TIMEOUT", "connect_timeout", *time,
                       &store->options);
  }
  copy_option("CACHE_KEY_PREFIX", "prefix", reader, &store->options);
  // Certificates are for both.
  const bool second_has_tls = read_per_second(reader, &store->options);
  if (!redis.has_tls() && !second_has_tls) {
    warn_of_certificates("REDIS", reader);
  }
}

void read_memcache(EnvironmentReader* reader, bool wanted,
                   StoreSettings* store) {
  if (wanted) return MemcacheReader(reader, store).read();
  reader->warn_unused(kMemcacheVariables, "without BACKEND_TYPE=memcache");
}

}  // namespace limitree::server
