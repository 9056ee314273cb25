// Where the buckets are: --store, BACKEND_TYPE and REDIS_...

#include <algorithm>

#include "config/environment.hpp"
#include "io/failure.hpp"
#include "limitree.hpp"

namespace limitree::server {

namespace {

constexpr const char* kSocket = "/var/run/nutcracker/ratelimit.sock";
constexpr Nanoseconds kMaxTimeout = 60 * kSecond;

enum class RedisType { kSingle, kSentinel, kCluster };

// For user and password in a URL.
std::string percent_encoded(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string made;
  for (const char c : text) {
    if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
        (c >= 'a' && c <= 'z') || c == '-' || c == '_' || c == '.') {
      made += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      made += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return made;
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

std::string without_blanks(std::string text) {
  std::erase(text, ' ');
  return text;
}

// Makes the URL of the store.
class StoreUrl {
 public:
  StoreUrl(EnvironmentReader* reader, StoreSettings* store)
      : reader_(*reader), store_(*store), text_(kSocket) {
    reader_.set("REDIS_URL", &text_);
    reader_.set("REDIS_TLS", &tls_);
    const auto kind =
        reader_.word("REDIS_TYPE", {"SINGLE", "SENTINEL", "CLUSTER"});
    if (kind) kind_ = static_cast<RedisType>(*kind);
    if (const auto login = reader_.text("REDIS_AUTH")) {
      const Login parts = login_of(*login);
      login_ = percent_encoded(parts.user) + ':' +
               percent_encoded(parts.password) + '@';
    }
  }

  void make() {
    const std::size_t mistakes = reader_.errors().size();
    switch (kind_) {
      case RedisType::kSingle:
        make_single();
        break;
      case RedisType::kSentinel:
        make_sentinel();
        break;
      case RedisType::kCluster:
        store_.url = scheme("+cluster://") + login_ + without_blanks(text_);
        break;
    }
    if (tls_) make_tls();
    if (reader_.errors().size() == mistakes) {
      Pairs unused;
      reader_.add_option("REDIS_URL", "store", store_.url, &unused);
    }
  }

 private:
  std::string scheme(const char* rest) const {
    return std::string(tls_ ? "rediss" : "redis") + rest;
  }

  void make_single() {
    if (const std::size_t scheme = text_.find("://"); scheme != text_.npos) {
      store_.url = text_;
      // A login in the URL counts first.
      if (text_.find('@') == text_.npos) {
        store_.url.insert(scheme + 3, login_);
      }
      tls_ = tls_ || text_.starts_with("rediss");
      return;
    }
    const auto type = reader_.word("REDIS_SOCKET_TYPE", {"unix", "tcp"});
    // There, a path is assumed even if there is a host and a port.
    if (type == 1u || (!type && !text_.starts_with('/'))) {
      store_.url = scheme("://") + login_ + text_;
      return;
    }
    if (!text_.starts_with('/')) {
      reader_.fail("REDIS_URL",
                   "must be the path of a socket from the root, because "
                   "REDIS_SOCKET_TYPE is unix");
    }
    if (tls_) reader_.fail("REDIS_TLS", "is not possible on a Unix socket");
    store_.url = "redis+unix://" + login_ + text_;
  }

  void make_sentinel() {
    const std::string text = without_blanks(text_);
    const std::size_t comma = text.find(',');
    if (comma == text.npos) {
      reader_.fail("REDIS_URL",
                   "must be the name of the primary, a comma and the sentinels "
                   "if REDIS_TYPE is SENTINEL");
      return;
    }
    store_.url = scheme("+sentinel://") + login_ + text.substr(comma + 1) +
                 '/' + text.substr(0, comma);
    if (const auto login = reader_.text("REDIS_SENTINEL_AUTH")) {
      const Login own = login_of(*login);
      const char* const name = "REDIS_SENTINEL_AUTH";
      if (!own.user.empty()) add(name, "sentinel_username", own.user);
      add(name, "sentinel_password", own.password);
    }
  }

  void make_tls() {
    const auto copy = [&](const char* name, const char* option) {
      if (const auto file = reader_.text(name)) add(name, option, *file);
    };
    copy("REDIS_TLS_CACERT", "tls_ca_file");
    copy("REDIS_TLS_CLIENT_CERT", "tls_cert_file");
    copy("REDIS_TLS_CLIENT_KEY", "tls_key_file");
    if (reader_.is_on("REDIS_TLS_SKIP_HOSTNAME_VERIFICATION")) {
      add("REDIS_TLS_SKIP_HOSTNAME_VERIFICATION", "tls_verify", "authority");
    }
  }

  void add(const char* name, const char* option, const std::string& value) {
    reader_.add_option(name, option, value, &store_.options);
  }

  EnvironmentReader& reader_;
  StoreSettings& store_;
  std::string text_;
  std::string login_;
  RedisType kind_ = RedisType::kSingle;
  bool tls_ = false;
};

void read_details(EnvironmentReader* reader, StoreSettings* store) {
  Nanoseconds wait = 0;
  if (reader->set("REDIS_TIMEOUT", &wait)) {
    const Nanoseconds used =
        std::clamp(wait, kMillisecond, kMaxTimeout) / kMillisecond;
    for (const char* const option : {"timeout", "connect_timeout"}) {
      reader->add_option("REDIS_TIMEOUT", option, std::to_string(used) + "ms",
                         &store->options);
    }
  }
  if (const auto prefix = reader->text("CACHE_KEY_PREFIX")) {
    reader->add_option("CACHE_KEY_PREFIX", "prefix", *prefix, &store->options);
  }
  if (reader->is_on("REDIS_PERSECOND")) {
    reader->warn(
        "REDIS_PERSECOND: limits per second are in the one store, too");
  }
}

}  // namespace

// The options of the environment belong to its own store.
void set_store(const Given& given, ServeSettings* settings) {
  settings->store = {given.values[0], {}};
  try {
    Config().set("store", settings->store.url);
  } catch (const Error& error) {
    throw Failure(given.place + ": " + error.what());
  }
}

void read_store(EnvironmentReader* reader, ServeSettings* settings) {
  const auto backend =
      reader->word("BACKEND_TYPE", {"redis", "memory", "memcache"});
  if (backend == 2u) {
    reader->fail("BACKEND_TYPE",
                 "there is no memcache here; use redis or memory");
  }
  if (backend == 0u || (!backend && reader->has("REDIS_URL"))) {
    StoreUrl(reader, &settings->store).make();
    read_details(reader, &settings->store);
    return;
  }
  for (const char* name : {"REDIS_TYPE", "REDIS_AUTH", "REDIS_TLS"}) {
    if (reader->has(name)) {
      reader->warn(std::string(name) +
                   ": no effect without REDIS_URL or BACKEND_TYPE=redis");
    }
  }
}

}  // namespace limitree::server
