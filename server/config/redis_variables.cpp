#include "config/redis_variables.hpp"

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
    if (tls_) read_tls();
    return std::move(store_);
  }

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

  void read_tls() {
    copy("REDIS_TLS_CACERT", "tls_ca_file");
    copy("REDIS_TLS_CLIENT_CERT", "tls_cert_file");
    copy("REDIS_TLS_CLIENT_KEY", "tls_key_file");
    constexpr const char* kSkip = "REDIS_TLS_SKIP_HOSTNAME_VERIFICATION";
    if (reader_.is_on(kSkip)) add(kSkip, "tls_verify", "authority");
  }

  void copy(const char* name, const char* option) {
    if (const auto text = reader_.text(name)) add(name, option, *text);
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

// The URL of this store says all about it.
void read_per_second(EnvironmentReader* reader, Pairs* options) {
  constexpr const char* kUrl = "REDIS_PERSECOND_URL";
  if (!reader->is_on("REDIS_PERSECOND")) {
    if (reader->has(kUrl)) {
      reader->warn(std::string(kUrl) + ": no effect without REDIS_PERSECOND");
    }
    return;
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
}

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
  constexpr const char* kPrefix = "CACHE_KEY_PREFIX";
  if (const auto text = reader->text(kPrefix)) {
    reader->add_option(kPrefix, "prefix", *text, &store->options);
  }
  read_per_second(reader, &store->options);
}

}  // namespace limitree::server
