#include "config/environment.hpp"

#include <algorithm>

#include "io/address.hpp"
#include "io/failure.hpp"

namespace limitree::server {

namespace {

constexpr const char* kRuntimeRoot = "/srv/runtime_data/current";
// Of the option over_cache_size.
constexpr std::int64_t kBytesOfCounter = 16;
constexpr std::int64_t kMostCounters = 10'000'000;

struct Place {
  ListenFor purpose;
  const char* host;
  const char* port;
  const char* default_host;
  std::int64_t default_port;
};

// If one of the variables is set.
void read_place(EnvironmentReader* reader, const Place& place,
                ServeSettings* settings) {
  if (!reader->has(place.host) && !reader->has(place.port)) return;
  const std::string host =
      reader->text(place.host).value_or(place.default_host);
  const std::int64_t port =
      reader->whole(place.port, {0, 65535}).value_or(place.default_port);
  try {
    listen_at(place.purpose, {address_of(host, static_cast<int>(port))},
              settings);
  } catch (const Failure& failure) {
    reader->fail(place.host, failure.what());
  }
}

void read_addresses(EnvironmentReader* reader, ServeSettings* settings) {
  read_place(reader, {ListenFor::kGrpc, "GRPC_HOST", "GRPC_PORT", "", 8081},
             settings);
  if (const auto path = reader->text("GRPC_UDS")) {
    listen_at(ListenFor::kGrpc, {"unix:" + *path}, settings);
  }
  read_place(reader, {ListenFor::kHttp, "HOST", "PORT", "", 8080}, settings);
  // Who may read the configuration is a decision: only this machine.
  read_place(reader,
             {ListenFor::kAdmin, "DEBUG_HOST", "DEBUG_PORT", "127.0.0.1", 6070},
             settings);
}

void read_connections(EnvironmentReader* reader, ServeSettings* settings) {
  ConnectionSettings& connection = settings->connection;
  reader->set_duration("GRPC_MAX_CONNECTION_AGE", &connection.max_age);
  // There, 0 is no limit.
  if (connection.max_age == 0) connection.max_age = kNever;
  reader->set_duration("GRPC_MAX_CONNECTION_AGE_GRACE",
                       &connection.max_age_grace);
  bool tls = false;
  reader->set("GRPC_SERVER_USE_TLS", &tls);
  if (!tls) return;
  reader->set("GRPC_SERVER_TLS_CERT", &settings->tls.cert_file);
  reader->set("GRPC_SERVER_TLS_KEY", &settings->tls.key_file);
  reader->set("GRPC_CLIENT_TLS_CACERT", &settings->tls.client_ca_file);
  if (const auto name = reader->text("GRPC_CLIENT_TLS_SAN")) {
    settings->tls.client_names = {*name};
  }
  for (const char* needed : {"GRPC_SERVER_TLS_CERT", "GRPC_SERVER_TLS_KEY"}) {
    if (!reader->has(needed)) {
      reader->fail(needed, "is needed, because GRPC_SERVER_USE_TLS is true");
    }
  }
}

void read_folder(EnvironmentReader* reader, ServeSettings* settings) {
  DescriptorSettings& descriptors = settings->descriptors;
  reader->set("MERGE_DOMAIN_CONFIG", &descriptors.merge_domains);
  reader->set("FORCE_START_WITHOUT_INITIAL_CONFIG",
              &settings->starts_without_descriptors);
  if (const auto ignore = reader->flag("RUNTIME_IGNOREDOTFILES")) {
    descriptors.dot_files = !*ignore;
  }
  // Both kinds of changes are always seen.
  (void)reader->flag("RUNTIME_WATCH_ROOT");
  const auto type = reader->word("CONFIG_TYPE", {"FILE", "GRPC_XDS_SOTW"});
  if (type == 1u) {
    read_xds(reader, settings);
    return;
  }
  const bool named = reader->has("RUNTIME_ROOT") ||
                     reader->has("RUNTIME_SUBDIRECTORY") ||
                     reader->has("RUNTIME_APPDIRECTORY");
  if (!named && type != 0u) return;
  std::string folder = reader->text("RUNTIME_ROOT").value_or(kRuntimeRoot);
  if (const auto sub = reader->text("RUNTIME_SUBDIRECTORY")) {
    folder += '/' + *sub;
  }
  folder += '/' + reader->text("RUNTIME_APPDIRECTORY").value_or("config");
  descriptors.places = {folder};
}

// Those are options of the library.
void read_limiting(EnvironmentReader* reader, Pairs* options) {
  const auto read_flag = [&](const char* name, const char* option) {
    if (const auto on = reader->flag(name)) {
      reader->add_option(name, option, *on ? "on" : "off", options);
    }
  };
  read_flag("SHADOW_MODE", "shadow_mode");
  read_flag("QUOTA_MODE", "quota_mode");
  read_flag("STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT", "stop_increment");
  if (reader->fraction("NEAR_LIMIT_RATIO")) {
    reader->add_option("NEAR_LIMIT_RATIO", "near_limit",
                       *reader->text("NEAR_LIMIT_RATIO"), options);
  }
  if (const auto bytes =
          reader->whole("LOCAL_CACHE_SIZE_IN_BYTES", {0, INT64_MAX})) {
    const std::int64_t counters =
        std::min(*bytes / kBytesOfCounter, kMostCounters);
    reader->add_option("LOCAL_CACHE_SIZE_IN_BYTES", "over_cache_size",
                       std::to_string(counters), options);
  }
}

void read_answers(EnvironmentReader* reader, ServeSettings* settings) {
  AnswerSettings& answers = settings->answers;
  reader->set("RESPONSE_DYNAMIC_METADATA", &answers.dynamic_metadata);
  reader->set("LIMIT_RESPONSE_HEADERS_ENABLED", &answers.headers);
  reader->set("LIMIT_LIMIT_HEADER", &answers.limit_header);
  reader->set("LIMIT_REMAINING_HEADER", &answers.remaining_header);
  reader->set("LIMIT_RESET_HEADER", &answers.reset_header);
  HealthSettings& health = settings->health;
  reader->set("HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED", &health.needs_domain);
  reader->set("REDIS_HEALTH_CHECK_ACTIVE_CONNECTION", &health.needs_store);
}

void name_those_without_effect(EnvironmentReader* reader) {
  std::string names;
  for (const char* name : variables_without_effect()) {
    if (!reader->has(name)) continue;
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  if (!names.empty()) reader->warn("no effect: " + names);
}

}  // namespace

const std::vector<const char*>& variables_without_effect() {
  static const std::vector<const char*> names = {
      "EXPIRATION_JITTER_MAX_SECONDS",
      "MEMCACHE_HOST_PORT",
      "MEMCACHE_MAX_IDLE_CONNS",
      "MEMCACHE_SRV",
      "MEMCACHE_SRV_REFRESH",
      "MEMCACHE_TLS",
      "MEMCACHE_TLS_CACERT",
      "MEMCACHE_TLS_CLIENT_CERT",
      "MEMCACHE_TLS_CLIENT_KEY",
      "MEMCACHE_TLS_SKIP_HOSTNAME_VERIFICATION",
      "OTEL_EXPORTER_OTLP_COMPRESSION",
      "OTEL_EXPORTER_OTLP_INSECURE",
      "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION",
      "OTEL_EXPORTER_OTLP_TRACES_INSECURE",
      "PROMETHEUS_MAPPER_YAML",
      "PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS",
      "REDIS_CLUSTER_PIPELINE_PARALLELISM",
      "REDIS_PERSECOND_AUTH",
      "REDIS_PERSECOND_CLUSTER_PIPELINE_PARALLELISM",
      "REDIS_PERSECOND_PIPELINE_LIMIT",
      "REDIS_PERSECOND_PIPELINE_WINDOW",
      "REDIS_PERSECOND_POOL_ON_EMPTY_BEHAVIOR",
      "REDIS_PERSECOND_POOL_SIZE",
      "REDIS_PERSECOND_SENTINEL_AUTH",
      "REDIS_PERSECOND_SOCKET_TYPE",
      "REDIS_PERSECOND_TIMEOUT",
      "REDIS_PERSECOND_TLS",
      "REDIS_PERSECOND_TYPE",
      "REDIS_PERSECOND_URL",
      "REDIS_PIPELINE_LIMIT",
      "REDIS_PIPELINE_WINDOW",
      "REDIS_POOL_ON_EMPTY_BEHAVIOR",
      "REDIS_POOL_SIZE",
      "REDIS_STARTUP_INITIAL_INTERVAL",
      "REDIS_STARTUP_MAX_ELAPSED_TIME",
      "REDIS_STARTUP_MAX_INTERVAL",
  };
  return names;
}

std::string default_descriptors() {
  return std::string(kRuntimeRoot) + "/config";
}

EnvironmentReport read_environment(const Lookup& lookup,
                                   ServeSettings* settings) {
  EnvironmentReader reader(lookup);
  read_addresses(&reader, settings);
  read_connections(&reader, settings);
  read_folder(&reader, settings);
  read_answers(&reader, settings);
  read_limiting(&reader, &settings->options);
  read_store(&reader, settings);
  read_reporting(&reader, settings);
  name_those_without_effect(&reader);
  return {std::move(reader.warnings()), std::move(reader.errors())};
}

}  // namespace limitree::server
