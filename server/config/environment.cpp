#include "config/environment.hpp"

#include <algorithm>

#include "io/address.hpp"
#include "io/failure.hpp"

namespace limitree::server {

namespace {

constexpr const char* kRuntimeRoot = "/srv/runtime_data/current";
// Of the option over_cache_size.
constexpr std::size_t kBytesOfCounter = 16;
constexpr std::size_t kMostCounters = 10'000'000;

struct Place {
  ListenFor purpose;
  const char* host;
  const char* port;
  const char* default_host;
  std::size_t default_port;
};

// If one of the variables is set.
void read_place(EnvironmentReader* reader, const Place& place,
                ServeSettings* settings) {
  if (!reader->has(place.host) && !reader->has(place.port)) return;
  const std::string host =
      reader->text(place.host).value_or(place.default_host);
  std::size_t port = place.default_port;
  reader->set(place.port, &port, {.least = 0, .most = 65535});
  try {
    listen_at(place.purpose, {address_of(host, static_cast<int>(port))},
              settings);
  } catch (const Failure& failure) {
    reader->fail(place.host, failure.what());
  }
}

// Whether CONFIG_TYPE names a server of descriptors; none if it is missing.
std::optional<bool> names_server(EnvironmentReader* reader) {
  const auto type = reader->word("CONFIG_TYPE", {"FILE", "GRPC_XDS_SOTW"});
  if (!type) return std::nullopt;
  return type == 1u;
}

}  // namespace

std::vector<std::string> variables_without_effect() {
  return split(
      "EXPIRATION_JITTER_MAX_SECONDS MEMCACHE_HOST_PORT "
      "MEMCACHE_MAX_IDLE_CONNS MEMCACHE_SRV MEMCACHE_SRV_REFRESH MEMCACHE_TLS "
      "MEMCACHE_TLS_CACERT MEMCACHE_TLS_CLIENT_CERT MEMCACHE_TLS_CLIENT_KEY "
      "MEMCACHE_TLS_SKIP_HOSTNAME_VERIFICATION OTEL_EXPORTER_OTLP_COMPRESSION "
      "OTEL_EXPORTER_OTLP_INSECURE OTEL_EXPORTER_OTLP_TRACES_COMPRESSION "
      "OTEL_EXPORTER_OTLP_TRACES_INSECURE PROMETHEUS_MAPPER_YAML "
      "PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS "
      "REDIS_CLUSTER_PIPELINE_PARALLELISM REDIS_PERSECOND_AUTH "
      "REDIS_PERSECOND_CLUSTER_PIPELINE_PARALLELISM "
      "REDIS_PERSECOND_PIPELINE_LIMIT REDIS_PERSECOND_PIPELINE_WINDOW "
      "REDIS_PERSECOND_POOL_ON_EMPTY_BEHAVIOR REDIS_PERSECOND_POOL_SIZE "
      "REDIS_PERSECOND_SENTINEL_AUTH REDIS_PERSECOND_SOCKET_TYPE "
      "REDIS_PERSECOND_TIMEOUT REDIS_PERSECOND_TLS REDIS_PERSECOND_TYPE "
      "REDIS_PERSECOND_URL REDIS_PIPELINE_LIMIT REDIS_PIPELINE_WINDOW "
      "REDIS_POOL_ON_EMPTY_BEHAVIOR REDIS_POOL_SIZE "
      "REDIS_STARTUP_INITIAL_INTERVAL REDIS_STARTUP_MAX_ELAPSED_TIME "
      "REDIS_STARTUP_MAX_INTERVAL",
      ' ');
}

std::string default_descriptors() {
  return std::string(kRuntimeRoot) + "/config";
}

// An option takes the place of variables for the same purpose, and of all
// default addresses.
void set_places(ListenFor purpose, const Given& given,
                ServeSettings* settings) {
  std::erase_if(settings->places,
                [](const ListenPlace& place) { return place.is_default; });
  listen_at(purpose, given.values, settings);
}

void read_grpc_place(EnvironmentReader* reader, ServeSettings* settings) {
  read_place(reader, {ListenFor::kGrpc, "GRPC_HOST", "GRPC_PORT", "", 8081},
             settings);
  if (const auto path = reader->text("GRPC_UDS")) {
    listen_at(ListenFor::kGrpc, {"unix:" + *path}, settings);
  }
}

void read_http_place(EnvironmentReader* reader, ServeSettings* settings) {
  read_place(reader, {ListenFor::kHttp, "HOST", "PORT", "", 8080}, settings);
}

// Who may read the configuration is a decision: only this machine.
void read_admin_place(EnvironmentReader* reader, ServeSettings* settings) {
  read_place(reader,
             {ListenFor::kAdmin, "DEBUG_HOST", "DEBUG_PORT", "127.0.0.1", 6070},
             settings);
}

// An address that has only the page for Prometheus.
void read_metrics_place(EnvironmentReader* reader, ServeSettings* settings) {
  if (!reader->is_on("USE_PROMETHEUS")) return;
  listen_at(ListenFor::kMetrics, {":9090"}, settings);
  reader->read("PROMETHEUS_ADDR", [&](const Given& given) {
    try {
      ListenAddress::parse(given.values[0]);
    } catch (const Failure&) {
      refuse(given, "an address such as :9090");
    }
    listen_at(ListenFor::kMetrics, given.values, settings);
  });
}

void set_metrics_path(const Given& given, ServeSettings* settings) {
  settings->metrics_path = given.values[0];
  if (!settings->metrics_path.starts_with('/')) {
    refuse(given, "a path such as /metrics");
  }
}

// An option for one source takes the place of a variable for another.
void set_descriptors(const Given& given, ServeSettings* settings) {
  settings->descriptors.places = given.values;
  settings->xds.server.clear();
}

void set_xds(const Given& given, ServeSettings* settings) {
  settings->xds.server = given.values[0];
  settings->descriptors.places.clear();
}

void read_folder(EnvironmentReader* reader, ServeSettings* settings) {
  // Both kinds of changes are always seen.
  (void)reader->is_on("RUNTIME_WATCH_ROOT");
  const std::optional<bool> server = names_server(reader);
  const bool named = reader->has("RUNTIME_ROOT") ||
                     reader->has("RUNTIME_SUBDIRECTORY") ||
                     reader->has("RUNTIME_APPDIRECTORY");
  if (server.value_or(!named)) return;
  std::string folder = reader->text("RUNTIME_ROOT").value_or(kRuntimeRoot);
  if (const auto sub = reader->text("RUNTIME_SUBDIRECTORY")) {
    folder += '/' + *sub;
  }
  folder += '/' + reader->text("RUNTIME_APPDIRECTORY").value_or("config");
  settings->descriptors.places = {folder};
}

void read_xds(EnvironmentReader* reader, ServeSettings* settings) {
  if (!names_server(reader).value_or(false)) return;
  settings->xds.server =
      reader->text("CONFIG_GRPC_XDS_SERVER_URL").value_or("localhost:18000");
  try {
    split_place(settings->xds.server);
  } catch (const Failure& failure) {
    reader->fail("CONFIG_GRPC_XDS_SERVER_URL", failure.what());
  }
}

void set_library_options(const Given& given, ServeSettings* settings) {
  Pairs options;
  set_target(given, {"NAME=VALUE"}, &options);
  std::move(options.begin(), options.end(),
            std::back_inserter(settings->options));
}

void read_library_options(EnvironmentReader* reader, ServeSettings* settings) {
  Pairs* const options = &settings->options;
  const auto read_switch = [&](const char* name, const char* option) {
    bool on = false;
    if (reader->set(name, &on)) {
      reader->add_option(name, option, on ? "on" : "off", options);
    }
  };
  read_switch("SHADOW_MODE", "shadow_mode");
  read_switch("QUOTA_MODE", "quota_mode");
  read_switch("STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT", "stop_increment");
  double ratio = 0;
  if (reader->set("NEAR_LIMIT_RATIO", &ratio)) {
    reader->add_option("NEAR_LIMIT_RATIO", "near_limit",
                       *reader->text("NEAR_LIMIT_RATIO"), options);
  }
  std::size_t bytes = 0;
  if (reader->set("LOCAL_CACHE_SIZE_IN_BYTES", &bytes,
                  {.least = 0, .most = INT64_MAX})) {
    reader->add_option(
        "LOCAL_CACHE_SIZE_IN_BYTES", "over_cache_size",
        std::to_string(std::min(bytes / kBytesOfCounter, kMostCounters)),
        options);
  }
}

}  // namespace limitree::server
