#include "limiter/options.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "limiter/option_values.hpp"
#include "limiter/redis_url.hpp"
#include "text/problems.hpp"

namespace limitree {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kMaxPrefix = 100;
constexpr std::size_t kMaxClientName = 100;

// A URL without user, password and options, for messages.
std::string without_login(std::string_view url) {
  std::string shown(url);
  const std::size_t scheme = url.find("://");
  if (scheme == url.npos) return shown;
  const std::size_t host = scheme + 3;
  const std::size_t at = url.substr(0, url.find('/', host)).rfind('@');
  if (at != url.npos && at >= host) shown.erase(host, at + 1 - host);
  if (redis::is_redis_url(url)) shown = shown.substr(0, shown.find('?'));
  return shown;
}

// Sets options->redis_settings to what the URL says, or nothing at all.
Status read_server(const Setting& setting, Options* options) {
  Options changed = *options;
  const auto set = [&changed](std::string_view name, std::string_view value) {
    return set_option(name, value, &changed);
  };
  Status status = read_redis_url(setting, set, &changed.redis_settings);
  if (status.ok()) options->redis_settings = std::move(changed.redis_settings);
  return status;
}

Status set_store(const Setting& setting, Options* options) {
  options->store_name = without_login(setting.value);
  if (setting.value == "memory://") {
    options->store = StoreKind::kMemory;
    return {};
  }
  if (shared::is_shared_url(setting.value)) {
    Result<shared::SharedUrl> shared = shared::parse_shared_url(setting.value);
    if (!shared.ok()) return std::move(shared.status());
    options->store = StoreKind::kShared;
    options->shared_url = std::move(shared.value());
    return {};
  }
  if (memcached::is_memcached_url(setting.value)) {
    Result<memcached::Url> url = memcached::parse_url(setting.value);
    if (!url.ok()) return std::move(url.status());
    options->store = StoreKind::kMemcached;
    options->memcached_url = std::move(url.value());
    return {};
  }
  if (!redis::is_redis_url(setting.value)) {
    // The text may contain a password, so it is not shown.
    return refuse(setting,
                  "must be memory://, or a URL such as shm://myapp, "
                  "redis://localhost:6379 or memcached://localhost:11211");
  }
  if (Status status = read_server(setting, options); !status.ok()) {
    return status;
  }
  options->store = StoreKind::kRedis;
  return {};
}

Status set_per_second_store(const Setting& setting, Options* options) {
  if (setting.value.empty()) {
    options->per_second.reset();
    return {};
  }
  if (!redis::is_redis_url(setting.value)) {
    return refuse(setting, "must be a URL such as redis://localhost:6379");
  }
  Options other;
  other.redis_settings.connect_timeout = {};
  Status status = read_server(setting, &other);
  if (status.ok()) options->per_second = std::move(other.redis_settings);
  return status;
}

// CLIENT SETNAME accepts only printable characters without blanks.
Status set_client_name(const Setting& setting, Options* options) {
  const auto is_odd = [](char c) { return c < '!' || c > '~'; };
  if (std::ranges::any_of(setting.value, is_odd)) {
    return refuse(setting, "must contain only ASCII letters, digits and signs");
  }
  redis::Settings& settings = options->redis_settings;
  settings.sentinel_login.client_name = setting.value;
  return read_text(setting, &settings.login.client_name, kMaxClientName);
}

// Braces in a key choose its slot in a cluster; the prefix must not add any.
Status set_prefix(const Setting& setting, Options* options) {
  if (setting.value.find_first_of("{}") != std::string_view::npos) {
    return refuse(setting, "must not have braces");
  }
  return read_text(setting, &options->redis_settings.prefix, kMaxPrefix);
}

Status set_tls_verify(const Setting& setting, Options* options) {
  enum class Verify : std::uint8_t { kName, kAuthority, kNothing };
  Verify verify{};
  Status status = read_word(setting, {"on", "authority", "off"}, &verify);
  if (!status.ok()) return status;
  TlsClientSettings& tls = options->redis_settings.tls;
  tls.verify = verify != Verify::kNothing;
  tls.verify_name = verify == Verify::kName;
  return {};
}

Status set_max_bytes(const Setting& setting, Options* options) {
  if (setting.value == "auto") {
    options->max_bytes = 0;
    return {};
  }
  return read_number(setting, MemoryStore::kLeastBytes,
                     MemoryStore::kLeastBytes * MemoryStore::kMaxMaxBuckets,
                     &options->max_bytes);
}

struct Option {
  std::string_view name;
  std::string_view default_value;
  std::string_view help;
  Status (*set)(const Setting& setting, Options* options);
};

// Short, so that most rows of the table are one line.
using S = const Setting&;
using O = Options*;

constexpr Option kOptions[] = {
    {"store", "memory://", "where buckets are kept; see below", set_store},
    {"max_buckets", "1000000",
     "the most buckets in memory, for the memory store, for `on_store_error` "
     "`local`, and for a file of `shm://` that is made; each takes 16 bytes; "
     "above this the least limited buckets are evicted",
     [](S s, O o) {
       return read_number(s, 1, MemoryStore::kMaxMaxBuckets, &o->max_buckets);
     }},
    {"max_bytes", "auto",
     "the most memory for buckets and logs together: 48 bytes for each of "
     "`max_buckets`; the rest is for the logs of `sliding_log` and "
     "`sliding_window`; `auto`: 256 bytes for each of `max_buckets`, at "
     "least 64 MiB",
     set_max_bytes},
    {"timeout", "50ms",
     "how long a call to the store may take, connecting included; `1ms` to "
     "`1m`; in `limitree serve` it is `250ms`, and no longer than the caller "
     "waits",
     [](S s, O o) {
       return read_time(s, milliseconds(1), seconds(60),
                        &o->redis_settings.timeout);
     }},
    {"connect_timeout", "1s",
     "how long an attempt to connect may take, TLS and login included; it "
     "continues after `timeout`, for later calls; `1ms` to `1m`",
     [](S s, O o) {
       return read_time(s, milliseconds(1), seconds(60),
                        &o->redis_settings.connect_timeout);
     }},
    {"connections", "4",
     "connections to each server, shared by all threads that block; each event "
     "loop has one of its own; 1 to 64",
     [](S s, O o) {
       return read_number(s, 1, 64, &o->redis_settings.connections);
     }},
    {"prefix", "limitree:",
     "the prefix of every key in Redis and memcached; no braces, at most 100 "
     "bytes",
     set_prefix},
    {"client_name", "limitree",
     "the name of connections in `CLIENT LIST`; empty: no name",
     set_client_name},
    {"low_latency", "auto",
     "whether a blocking call polls for its answer before it sleeps: `auto` "
     "up to 50 us if that pays, `on` always, `off` never",
     [](S s, O o) {
       return read_word(s, {"auto", "on", "off"},
                        &o->redis_settings.low_latency);
     }},
    {"share_calls", "on",
     "requests that wait at the same time share calls to the server; `off` "
     "behind a proxy that spreads keys over several",
     [](S s, O o) { return read_switch(s, &o->redis_settings.share_calls); }},
    {"on_store_error", "raise",
     "what to do when the store fails: `raise`, `allow`, `deny`, `local`",
     [](S s, O o) {
       return read_word(s, {"raise", "allow", "deny", "local"},
                        &o->on_store_error);
     }},
    {"local_share", "1",
     "the part of every limit that this process has under `on_store_error` "
     "`local`: `1/8` or `0.125`",
     [](S s, O o) { return read_share(s, 1, &o->local_share); }},
    {"deny_cache", "on", "`on`: repeat denials of the store without asking it",
     [](S s, O o) { return read_switch(s, &o->deny_cache); }},
    {"deny_cache_size", "100000",
     "the most buckets in the deny cache, at 16 bytes each",
     [](S s, O o) {
       return read_number(s, 1, MemoryStore::kMaxMaxBuckets,
                          &o->deny_cache_size);
     }},
    {"retry_spread", "0s",
     "how much later than they have to denied callers are told to come back, "
     "at most: `10s` spreads those who are denied together evenly over ten "
     "seconds; up to `1d`",
     [](S s, O o) {
       return read_time(s, {}, std::chrono::days(1), &o->retry_spread);
     }},
    {"leases", "remote",
     "whether this process takes leases of limits with `lease`: `remote`, from "
     "Redis and memcached; `always`, from shm:// too; `off`",
     [](S s, O o) {
       return read_word(s, {"remote", "always", "off"}, &o->leases);
     }},
    {"near_limit", "0.8",
     "the used part of a limit from which an allowed request counts as near "
     "the limit",
     [](S s, O o) { return read_share(s, 0, &o->near_limit); }},
    {"shadow_mode", "off",
     "`on`: no limit denies a request, and what each would deny is counted as "
     "that of a limit in [shadow](limits-yaml.md#shadow); "
     "[descriptors](descriptors.md) over a limit are answered as OK",
     [](S s, O o) { return read_switch(s, &o->answer_modes.shadow_mode); }},
    {"quota_mode", "off",
     "for descriptors: `on` treats each of them as if it had `quota_mode`",
     [](S s, O o) { return read_switch(s, &o->answer_modes.quota_mode); }},
    {"stop_increment", "off",
     "for descriptors: whether those of a request are still counted if one is "
     "over its limit; `on`: they are not; `enforced`: they are not, unless "
     "that one is in shadow mode",
     [](S s, O o) {
       return read_word(s, {"off", "on", "enforced"}, &o->stop_increment);
     }},
    {"over_cache_size", "0",
     "for descriptors: the most counters that are remembered to be over their "
     "limits, at 16 bytes each; until their windows end the store is not asked "
     "about them",
     [](S s, O o) {
       return read_number(s, 0, MemoryStore::kMaxMaxBuckets,
                          &o->over_cache_size);
     }},
    {"max_metric_keys", "10000",
     "for descriptors: the most names in metrics that depend on requests; the "
     "rest is counted as `other`",
     [](S s, O o) {
       return read_number(s, 0, 1'000'000, &o->max_metric_keys);
     }},
    {"per_second_store", "",
     "the URL of another Redis store, for limits of a second or less; empty: "
     "they are in the same place as the others",
     set_per_second_store},
    {"password_file", "",
     "file of the password of a Redis store, read for each connection; "
     "`user:password` where the URL names no user",
     [](S s, O o) {
       return read_text(s, &o->redis_settings.login.password_file);
     }},
    {"tls_ca_file", "",
     "PEM file of the authorities to trust; empty: the system's",
     [](S s, O o) { return read_text(s, &o->redis_settings.tls.ca_file); }},
    {"tls_cert_file", "",
     "PEM file of the client's certificate, for servers that ask for one",
     [](S s, O o) { return read_text(s, &o->redis_settings.tls.cert_file); }},
    {"tls_key_file", "", "PEM file of the key of that certificate",
     [](S s, O o) { return read_text(s, &o->redis_settings.tls.key_file); }},
    {"tls_server_name", "",
     "the name that the server's certificate must have; empty: the host in "
     "the URL",
     [](S s, O o) { return read_text(s, &o->redis_settings.tls.server_name); }},
    {"tls_verify", "on",
     "`authority`: accept the certificates of the authorities, whatever their "
     "names; `off`: accept any certificate from any server, only for "
     "experiments",
     set_tls_verify},
    {"sentinel_username", "",
     "user name at the sentinels; empty: the default user",
     [](S s, O o) {
       return read_text(s, &o->redis_settings.sentinel_login.user);
     }},
    {"sentinel_password", "", "password at the sentinels; empty: no password",
     [](S s, O o) {
       return read_text(s, &o->redis_settings.sentinel_login.password);
     }},
    {"sentinel_password_file", "", "the same in a file, as `password_file`",
     [](S s, O o) {
       return read_text(s, &o->redis_settings.sentinel_login.password_file);
     }},
};

}  // namespace

const char* option_at(std::size_t index) {
  return index < std::size(kOptions) ? kOptions[index].name.data() : nullptr;
}

Status set_option(std::string_view name, std::string_view value,
                  Options* options) {
  std::vector<std::string_view> names;
  for (const Option& option : kOptions) {
    if (option.name == name) return option.set({name, value}, options);
    names.push_back(option.name);
  }
  const std::string_view meant = nearest(name, names);
  return Status(Code::kInvalidArgument,
                "there is no option " + quote(name) + ", " +
                    (meant.empty() ? "there are: " + join(names)
                                   : "did you mean " + quote(meant) + "?"));
}

void set_client(redis::SendFunction send, bool is_cluster, Options* options) {
  options->store = StoreKind::kRedis;
  options->store_name = "behind the client";
  options->redis_settings.url = redis::client_url(is_cluster);
  options->redis_settings.login.user.clear();
  options->redis_settings.login.password.clear();
  options->redis_settings.login.db = 0;
  options->redis_settings.client = std::move(send);
}

std::string options_markdown() {
  std::string table = "| option | default | meaning |\n|---|---|---|\n";
  const auto code = [](std::string_view text) {
    return text.empty() ? std::string() : '`' + std::string(text) + '`';
  };
  for (const Option& option : kOptions) {
    table += "| " + code(option.name) + " | " + code(option.default_value) +
             " | " + std::string(option.help) + " |\n";
  }
  return table;
}

}  // namespace limitree
