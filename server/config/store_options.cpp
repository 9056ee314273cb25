// Options: what answers have, and where the buckets are.

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/digits.hpp"
#include "config/options.hpp"
#include "io/failure.hpp"
#include "limitree.hpp"
#include "net/text.hpp"

namespace limitree::server {

namespace {

constexpr const char* kAnswers = "Answers";
constexpr const char* kBuckets = "Buckets";

constexpr const char* kSocket = "/var/run/nutcracker/ratelimit.sock";
constexpr Duration kMaxTimeout = 60 * kOneSecond;
// The size of one counter of the option over_cache_size.
constexpr std::size_t kBytesOfCounter = 16;
constexpr std::size_t kMostCounters = 10'000'000;

// For user and password in a URL.
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

// Reads where a server of Redis is.
class RedisVariables {
 public:
  RedisVariables(EnvironmentReader* reader, StoreSettings* store)
      : reader_(*reader), store_(*store) {
    reader_.set("REDIS_URL", &address_);
    reader_.set("REDIS_TLS", &tls_);
    if (const auto text = reader_.text("REDIS_AUTH")) {
      const auto [user, password] = login_of(*text);
      login_ = url_encoded(user) + ':' + url_encoded(password) + '@';
    }
  }

  void read() {
    const std::size_t mistakes = reader_.report().errors.size();
    const std::size_t type =
        reader_.word("REDIS_TYPE", "SINGLE SENTINEL CLUSTER").value_or(0);
    if (type == 0) {
      read_single();
    } else {
      std::erase(address_, ' ');
      store_.url = "+cluster://" + login_ + address_;
      if (type == 1) read_sentinel();
      store_.url.insert(0, tls_ ? "rediss" : "redis");
    }
    if (tls_) read_tls();
    if (reader_.report().errors.size() == mistakes) {
      Pairs unused;
      reader_.add_option("REDIS_URL", "store", store_.url, &unused);
    }
    read_details();
  }

 private:
  void read_single() {
    const std::size_t scheme = address_.find("://");
    if (scheme != address_.npos) {
      store_.url = address_;
      // A login in the URL takes precedence.
      if (address_.find('@') == address_.npos) {
        store_.url.insert(scheme + 3, login_);
      }
      tls_ = tls_ || address_.starts_with("rediss");
      return;
    }
    const bool is_path = address_.starts_with('/');
    const auto type = reader_.word("REDIS_SOCKET_TYPE", "unix tcp");
    // envoyproxy/ratelimit assumes a path even if there is a host and a port.
    if (type == 1u || (!type && !is_path)) {
      store_.url = (tls_ ? "rediss://" : "redis://") + login_ + address_;
      return;
    }
    if (!is_path) {
      reader_.fail("REDIS_URL",
                   "must be the path of a socket from the root, because "
                   "REDIS_SOCKET_TYPE is unix");
    }
    if (tls_) reader_.fail("REDIS_TLS", "is not possible on a Unix socket");
    store_.url = "redis+unix://" + login_ + address_;
  }

  void read_sentinel() {
    const std::size_t comma = address_.find(',');
    if (comma == address_.npos) {
      reader_.fail("REDIS_URL",
                   "must be the name of the primary, a comma and the sentinels "
                   "if REDIS_TYPE is SENTINEL");
      return;
    }
    store_.url = "+sentinel://" + login_ + address_.substr(comma + 1) + '/' +
                 address_.substr(0, comma);
    constexpr const char* kAuth = "REDIS_SENTINEL_AUTH";
    if (const auto text = reader_.text(kAuth)) {
      const auto [user, password] = login_of(*text);
      if (!user.empty()) add(kAuth, "sentinel_username", user);
      add(kAuth, "sentinel_password", password);
    }
  }

  void read_tls() {
    copy("REDIS_TLS_CACERT", "tls_ca_file");
    copy("REDIS_TLS_CLIENT_CERT", "tls_cert_file");
    copy("REDIS_TLS_CLIENT_KEY", "tls_key_file");
    constexpr const char* kSkip = "REDIS_TLS_SKIP_HOSTNAME_VERIFICATION";
    if (reader_.is_on(kSkip)) add(kSkip, "tls_verify", "authority");
  }

  void read_details() {
    Duration wait{};
    if (reader_.set("REDIS_TIMEOUT", &wait)) {
      const std::string used = std::to_string(
          std::clamp(wait, kMillisecond, kMaxTimeout) / kMillisecond);
      add("REDIS_TIMEOUT", "timeout", used + "ms");
      add("REDIS_TIMEOUT", "connect_timeout", used + "ms");
    }
    copy("CACHE_KEY_PREFIX", "prefix");
    if (reader_.is_on("REDIS_PERSECOND")) {
      reader_.warn(
          "REDIS_PERSECOND: limits per second are in the one store, too");
    }
  }

  void copy(const char* name, const char* option) {
    if (const auto text = reader_.text(name)) add(name, option, *text);
  }
  void add(const char* name, const char* option, const std::string& value) {
    reader_.add_option(name, option, value, &store_.options);
  }

  EnvironmentReader& reader_;
  StoreSettings& store_;
  std::string address_ = kSocket;
  std::string login_;
  bool tls_ = false;
};

void read_store(EnvironmentReader* reader, ServeSettings* settings) {
  const auto backend = reader->word("BACKEND_TYPE", "redis memory memcache");
  if (backend == 2u) {
    reader->fail("BACKEND_TYPE",
                 "there is no memcache here; use redis or memory");
  }
  if (backend == 0u || (!backend && reader->has("REDIS_URL"))) {
    RedisVariables(reader, &settings->store).read();
    return;
  }
  for (const char* name : {"REDIS_TYPE", "REDIS_AUTH", "REDIS_TLS"}) {
    if (reader->has(name)) {
      reader->warn(std::string(name) +
                   ": no effect without REDIS_URL or BACKEND_TYPE=redis");
    }
  }
}

// The options of the environment belong to its own store.
void set_store(const OptionValue& value, StoreSettings* store) {
  *store = {value.text(), {}};
  try {
    Config().set("store", store->url);
  } catch (const Error& error) {
    throw Failure(value.place + ": " + error.what());
  }
}

void read_library_options(EnvironmentReader* reader, ServeSettings* settings) {
  Pairs* const options = &settings->options;
  constexpr std::pair<const char*, const char*> kSwitches[] = {
      {"SHADOW_MODE", "shadow_mode"},
      {"QUOTA_MODE", "quota_mode"},
      {"STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT", "stop_increment"}};
  for (const auto& [name, option] : kSwitches) {
    bool on = false;
    if (reader->set(name, &on)) {
      reader->add_option(name, option, on ? "on" : "off", options);
    }
  }
  double ratio = 0;
  if (reader->set("NEAR_LIMIT_RATIO", &ratio)) {
    reader->add_option("NEAR_LIMIT_RATIO", "near_limit",
                       *reader->text("NEAR_LIMIT_RATIO"), options);
  }
  constexpr const char* kCache = "LOCAL_CACHE_SIZE_IN_BYTES";
  std::size_t bytes = 0;
  if (reader->set(kCache, &bytes, number_kind(INT64_MAX, 0))) {
    reader->add_option(
        kCache, "over_cache_size",
        std::to_string(std::min(bytes / kBytesOfCounter, kMostCounters)),
        options);
  }
}

void add_library_options(const OptionValue& value, Pairs* options) {
  Pairs more;
  set_target(value, list_kind("NAME=VALUE"), &more);
  std::ranges::move(more, std::back_inserter(*options));
}

}  // namespace

std::vector<Option> store_options(ServeSettings* s) {
  AnswerSettings* const answers = &s->answers;
  return {
      {kAnswers, "--answer-headers", kSwitch, "LIMIT_RESPONSE_HEADERS_ENABLED",
       "add RateLimit-* headers to answers to Envoy", &answers->headers},
      {kAnswers, "--limit-header", text_kind("NAME"), "LIMIT_LIMIT_HEADER",
       "header of the limit", &answers->limit_header},
      {kAnswers, "--remaining-header", text_kind("NAME"),
       "LIMIT_REMAINING_HEADER", "header of what is left",
       &answers->remaining_header},
      {kAnswers, "--reset-header", text_kind("NAME"), "LIMIT_RESET_HEADER",
       "header of the time to wait", &answers->reset_header},
      {kAnswers, "--dynamic-metadata", kSwitch, "RESPONSE_DYNAMIC_METADATA",
       "add dynamic metadata to answers to Envoy", &answers->dynamic_metadata},
      {kAnswers, "--http-headers", text_kind("STYLE"), "",
       "style of the headers of /v1", &s->header_style},

      {kBuckets, "-u,--store", text_kind("URL"),
       "BACKEND_TYPE REDIS_URL REDIS_TYPE REDIS_SOCKET_TYPE REDIS_AUTH "
       "REDIS_SENTINEL_AUTH REDIS_TLS REDIS_TLS_CACERT REDIS_TLS_CLIENT_CERT "
       "REDIS_TLS_CLIENT_KEY REDIS_TLS_SKIP_HOSTNAME_VERIFICATION "
       "REDIS_TIMEOUT REDIS_PERSECOND CACHE_KEY_PREFIX",
       "where the buckets are, such as redis://HOST:6379",
       [s](const OptionValue& value) { set_store(value, &s->store); },
       read_store},
      {kBuckets, "--set", list_kind("NAME=VALUE"),
       "SHADOW_MODE QUOTA_MODE STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT "
       "NEAR_LIMIT_RATIO LOCAL_CACHE_SIZE_IN_BYTES",
       "an option of the library",
       [s](const OptionValue& value) {
         add_library_options(value, &s->options);
       },
       read_library_options},
      {kBuckets, "--check-store", kSwitch,
       "REDIS_HEALTH_CHECK_ACTIVE_CONNECTION",
       "be healthy only while the store answers", &s->health.needs_store}};
}

}  // namespace limitree::server
