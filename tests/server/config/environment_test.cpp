#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "limitree.hpp"
#include "server/config/read_variables.hpp"

namespace limitree::server {
namespace {

std::vector<std::string> places(const ServeSettings& settings,
                                ListenFor purpose) {
  std::vector<std::string> addresses;
  for (const ListenPlace& place : settings.places) {
    if (place.purpose == purpose) addresses.push_back(place.address);
  }
  return addresses;
}

using Texts = std::vector<std::string>;

TEST(Environment, NothingChangesNothing) {
  const ServeSettings settings = good({});
  EXPECT_EQ(places(settings, ListenFor::kGrpc), Texts{":8081"});
  EXPECT_EQ(settings.places.size(), 1u);
  EXPECT_EQ(settings.store.url, "");
  EXPECT_TRUE(settings.options.empty());
  EXPECT_TRUE(settings.descriptors.places.empty());
  EXPECT_EQ(settings.xds.server, "");
  EXPECT_EQ(settings.connection.max_age, 24 * 3600 * kOneSecond);
  EXPECT_EQ(settings.stats.format, StatsFormat::kNone);
  EXPECT_FALSE(settings.trace.enabled);
}

TEST(Environment, SaysWhereToListen) {
  ServeSettings settings = good(
      {{"GRPC_PORT", "9000"}, {"HOST", "127.0.0.1"}, {"DEBUG_PORT", "9001"}});
  EXPECT_EQ(places(settings, ListenFor::kGrpc), Texts{":9000"});
  EXPECT_EQ(places(settings, ListenFor::kHttp), Texts{"127.0.0.1:8080"});
  EXPECT_EQ(places(settings, ListenFor::kAdmin), Texts{"127.0.0.1:9001"});
  settings = good({{"GRPC_HOST", "::1"},
                   {"PORT", "0"},
                   {"DEBUG_HOST", "0.0.0.0"},
                   {"USE_PROMETHEUS", "true"}});
  EXPECT_EQ(places(settings, ListenFor::kGrpc), Texts{"[::1]:8081"});
  EXPECT_EQ(places(settings, ListenFor::kHttp), Texts{":0"});
  EXPECT_EQ(places(settings, ListenFor::kAdmin), Texts{"0.0.0.0:6070"});
  EXPECT_EQ(places(settings, ListenFor::kMetrics), Texts{":9090"});
  EXPECT_EQ(settings.metrics_path, "/metrics");
  settings = good({{"USE_PROMETHEUS", "true"},
                   {"PROMETHEUS_ADDR", "127.0.0.1:1"},
                   {"PROMETHEUS_PATH", "/m"}});
  EXPECT_EQ(places(settings, ListenFor::kMetrics), Texts{"127.0.0.1:1"});
  EXPECT_EQ(settings.metrics_path, "/m");
  EXPECT_TRUE(
      places(read({{"PROMETHEUS_ADDR", ":1"}}).settings, ListenFor::kMetrics)
          .empty());
  settings = good({{"GRPC_UDS", "/run/x"}, {"GRPC_PORT", "1"}});
  EXPECT_EQ(places(settings, ListenFor::kGrpc), Texts{"unix:/run/x"});
  EXPECT_EQ(error({{"GRPC_PORT", "x"}}),
            "GRPC_PORT: must be a number from 0 to 65535, is 'x'");
  EXPECT_TRUE(error({{"GRPC_HOST", "no such host"}})
                  .starts_with("GRPC_HOST: 'no such host': "));
  EXPECT_EQ(error({{"USE_PROMETHEUS", "1"}, {"PROMETHEUS_ADDR", "9090"}}),
            "PROMETHEUS_ADDR: must be an address such as :9090, is '9090'");
  EXPECT_EQ(error({{"USE_PROMETHEUS", "1"}, {"PROMETHEUS_PATH", "m"}}),
            "PROMETHEUS_PATH: must be a path such as /metrics, is 'm'");
  EXPECT_EQ(
      warning({{"USE_PROMETHEUS", "1"}, {"PROMETHEUS_MAPPER_YAML", "/m"}}),
      "PROMETHEUS_MAPPER_YAML: this file is not read; metrics have the "
      "names and labels of envoyproxy/ratelimit's own mapper");
  EXPECT_TRUE(read({{"PROMETHEUS_MAPPER_YAML", "/m"}}).report.warnings.empty());
}

TEST(Environment, SetsConnectionsAndTls) {
  Variables all = {{"GRPC_MAX_CONNECTION_AGE", "1h"},
                   {"GRPC_MAX_CONNECTION_AGE_GRACE", "5s"},
                   {"GRPC_SERVER_TLS_CERT", "c"},
                   {"GRPC_SERVER_TLS_KEY", "k"},
                   {"GRPC_CLIENT_TLS_CACERT", "ca"},
                   {"GRPC_CLIENT_TLS_SAN", "envoy"}};
  EXPECT_EQ(warning(all),
            "GRPC_SERVER_TLS_CERT, GRPC_SERVER_TLS_KEY, "
            "GRPC_CLIENT_TLS_CACERT, GRPC_CLIENT_TLS_SAN: no effect without "
            "GRPC_SERVER_USE_TLS");
  ServeSettings settings = read(all).settings;
  EXPECT_EQ(settings.connection.max_age, 3600 * kOneSecond);
  EXPECT_EQ(settings.connection.max_age_grace, 5 * kOneSecond);
  EXPECT_EQ(settings.tls.cert_file, "");
  all["GRPC_SERVER_USE_TLS"] = "true";
  settings = good(all);
  EXPECT_EQ(settings.tls.cert_file, "c");
  EXPECT_EQ(settings.tls.key_file, "k");
  EXPECT_EQ(settings.tls.client_ca_file, "ca");
  EXPECT_EQ(settings.tls.client_names, Texts{"envoy"});
  EXPECT_EQ(good({{"LIMITREE_MAX_CONNECTION_AGE", "0s"}}).connection.max_age,
            kNever);
  EXPECT_EQ(good({{"GRPC_MAX_CONNECTION_AGE", "0"}}).connection.max_age,
            kNever);
  EXPECT_EQ(
      good({{"GRPC_MAX_CONNECTION_AGE_GRACE", "0s"}}).connection.max_age_grace,
      kNever);
  EXPECT_EQ(good({{"LIMITREE_MAX_CONNECTION_IDLE", "0s"}}).connection.max_idle,
            kNever);
  for (const std::string name :
       {"LIMITREE_KEEPALIVE_TIME", "LIMITREE_KEEPALIVE_TIMEOUT",
        "STATS_FLUSH_INTERVAL", "LIMITREE_OTLP_METRICS_INTERVAL"}) {
    EXPECT_EQ(error({{name, "0s"}}), name + ": must be at least 1ms, is '0s'");
  }
  EXPECT_EQ(
      error({{"GRPC_SERVER_USE_TLS", "1"}, {"GRPC_SERVER_TLS_CERT", "c"}}),
      "GRPC_SERVER_TLS_KEY: is needed, because GRPC_SERVER_USE_TLS is true");
  EXPECT_EQ(error({{"GRPC_MAX_CONNECTION_AGE", "1"}}),
            "GRPC_MAX_CONNECTION_AGE: must be a duration such as 10s or "
            "1h30m, is '1'");
}

TEST(Environment, NamesTheFolderOfDescriptors) {
  const auto folder = [](const Variables& all) {
    return good(all).descriptors.places;
  };
  EXPECT_EQ(folder({{"RUNTIME_ROOT", "/data"}}), Texts{"/data/config"});
  EXPECT_EQ(folder({{"RUNTIME_ROOT", "/data"},
                    {"RUNTIME_SUBDIRECTORY", "ratelimit"},
                    {"RUNTIME_APPDIRECTORY", "rules"}}),
            Texts{"/data/ratelimit/rules"});
  EXPECT_EQ(folder({{"CONFIG_TYPE", "FILE"}}), Texts{default_descriptors()});
  EXPECT_EQ(folder({{"CONFIG_TYPE", "GRPC_XDS_SOTW"}, {"RUNTIME_ROOT", "/x"}}),
            Texts{});
  const ServeSettings settings =
      good({{"RUNTIME_IGNOREDOTFILES", "false"},
            {"RUNTIME_WATCH_ROOT", "false"},
            {"MERGE_DOMAIN_CONFIG", "true"},
            {"FORCE_START_WITHOUT_INITIAL_CONFIG", "true"},
            {"HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED", "true"},
            {"REDIS_HEALTH_CHECK_ACTIVE_CONNECTION", "true"}});
  EXPECT_TRUE(settings.descriptors.dot_files);
  EXPECT_TRUE(settings.descriptors.merge_domains);
  EXPECT_TRUE(settings.starts_without_descriptors);
  EXPECT_TRUE(settings.health.needs_domain);
  EXPECT_TRUE(settings.health.needs_store);
  EXPECT_EQ(error({{"CONFIG_TYPE", "GIT"}}),
            "CONFIG_TYPE: must be FILE or GRPC_XDS_SOTW, is 'GIT'");
  EXPECT_EQ(error({{"RUNTIME_WATCH_ROOT", "?"}}),
            "RUNTIME_WATCH_ROOT: must be true or false, is '?'");
}

TEST(Environment, NamesAServerOfDescriptors) {
  const XdsSettings xds =
      good({{"CONFIG_TYPE", "GRPC_XDS_SOTW"},
            {"CONFIG_GRPC_XDS_NODE_ID", "me"},
            {"CONFIG_GRPC_XDS_NODE_METADATA", "a=1,b:2"},
            {"CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS", "x-a:1"},
            {"CONFIG_GRPC_XDS_SERVER_USE_TLS", "true"},
            {"CONFIG_GRPC_XDS_SERVER_TLS_CACERT", "ca"},
            {"CONFIG_GRPC_XDS_CLIENT_TLS_CERT", "c"},
            {"CONFIG_GRPC_XDS_CLIENT_TLS_KEY", "k"},
            {"CONFIG_GRPC_XDS_SERVER_TLS_SAN", "control"},
            {"XDS_CLIENT_BACKOFF_INITIAL_INTERVAL", "20ms"},
            {"XDS_CLIENT_BACKOFF_MAX_INTERVAL", "2s"},
            {"XDS_CLIENT_BACKOFF_RANDOM_FACTOR", "0.25"},
            {"XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES", "1000"}})
          .xds;
  EXPECT_EQ(xds.server, "localhost:18000");
  EXPECT_EQ(xds.node_id, "me");
  EXPECT_EQ(xds.node_metadata, (Pairs{{"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(xds.headers, (Pairs{{"x-a", "1"}}));
  EXPECT_TRUE(xds.tls.on);
  EXPECT_EQ(xds.tls.ca_file, "ca");
  EXPECT_EQ(xds.tls.cert_file, "c");
  EXPECT_EQ(xds.tls.key_file, "k");
  EXPECT_EQ(xds.tls.server_name, "control");
  EXPECT_EQ(xds.first_wait, 20 * kMillisecond);
  EXPECT_EQ(xds.last_wait, 2 * kOneSecond);
  EXPECT_EQ(xds.random, 0.25);
  EXPECT_EQ(xds.max_message_bytes, 1000u);
  EXPECT_EQ(good({{"CONFIG_TYPE", "GRPC_XDS_SOTW"},
                  {"CONFIG_GRPC_XDS_SERVER_URL", "control:1"},
                  {"CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL", "7s"},
                  {"XDS_CLIENT_BACKOFF_JITTER", "false"}})
                .xds.random,
            0);
}

TEST(Environment, WithoutAServerOfDescriptorsItsVariablesDoNotCount) {
  for (const char* type : {"FILE", ""}) {
    const Read made =
        read({{"CONFIG_TYPE", type},
              {"CONFIG_GRPC_XDS_SERVER_URL", "nonsense"},
              {"CONFIG_GRPC_XDS_NODE_ID", "me"},
              {"CONFIG_GRPC_XDS_NODE_METADATA", "bad"},
              {"CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS", "bad"},
              {"CONFIG_GRPC_XDS_SERVER_USE_TLS", "maybe"},
              {"CONFIG_GRPC_XDS_SERVER_TLS_CACERT", "ca"},
              {"CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL", "3"},
              {"XDS_CLIENT_BACKOFF_INITIAL_INTERVAL", "10"},
              {"XDS_CLIENT_BACKOFF_MAX_INTERVAL", "60"},
              {"XDS_CLIENT_BACKOFF_RANDOM_FACTOR", "2"},
              {"XDS_CLIENT_BACKOFF_JITTER", "false"},
              {"XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES", "0"}});
    EXPECT_TRUE(made.report.errors.empty());
    ASSERT_EQ(made.report.warnings.size(), 2u);
    EXPECT_TRUE(made.report.warnings[0].ends_with(
        ": no effect without CONFIG_TYPE=GRPC_XDS_SOTW"));
    EXPECT_EQ(made.report.warnings[1],
              "CONFIG_GRPC_XDS_SERVER_TLS_CACERT: no effect without "
              "CONFIG_TYPE=GRPC_XDS_SOTW and CONFIG_GRPC_XDS_SERVER_USE_TLS");
    const XdsSettings& xds = made.settings.xds;
    const XdsSettings defaults;
    EXPECT_EQ(xds.server, "");
    EXPECT_EQ(xds.node_id, defaults.node_id);
    EXPECT_EQ(xds.tls.ca_file, "");
    EXPECT_EQ(xds.random, defaults.random);
  }
  // limitree's own variables always do.
  EXPECT_EQ(error({{"CONFIG_TYPE", "FILE"}, {"LIMITREE_XDS_JITTER", "2"}}),
            "LIMITREE_XDS_JITTER: must be a number from 0 to 1, is '2'");
  EXPECT_EQ(good({{"LIMITREE_XDS_NODE", "me"}}).xds.node_id, "me");
}

TEST(Environment, WithoutTlsTheFilesForAServerOfDescriptorsDoNotCount) {
  Variables all = {{"CONFIG_TYPE", "GRPC_XDS_SOTW"},
                   {"CONFIG_GRPC_XDS_SERVER_TLS_CACERT", "ca"},
                   {"CONFIG_GRPC_XDS_CLIENT_TLS_CERT", "c"},
                   {"CONFIG_GRPC_XDS_CLIENT_TLS_KEY", "k"},
                   {"CONFIG_GRPC_XDS_SERVER_TLS_SAN", "control"}};
  const XdsTls tls = read(all).settings.xds.tls;
  EXPECT_EQ(tls.ca_file + tls.cert_file + tls.key_file + tls.server_name, "");
  all["CONFIG_GRPC_XDS_SERVER_USE_TLS"] = "true";
  EXPECT_EQ(good(all).xds.tls.server_name, "control");
}

TEST(Environment, SetsAnswers) {
  const AnswerSettings answers =
      good({{"RESPONSE_DYNAMIC_METADATA", "true"},
            {"LIMIT_RESPONSE_HEADERS_ENABLED", "true"},
            {"LIMIT_LIMIT_HEADER", "x-limit"},
            {"LIMIT_REMAINING_HEADER", "x-left"},
            {"LIMIT_RESET_HEADER", "x-reset"}})
          .answers;
  EXPECT_TRUE(answers.dynamic_metadata);
  EXPECT_TRUE(answers.headers);
  EXPECT_EQ(answers.limit_header, "x-limit");
  EXPECT_EQ(answers.remaining_header, "x-left");
  EXPECT_EQ(answers.reset_header, "x-reset");
  for (const std::string name : {"LIMIT_LIMIT_HEADER", "LIMIT_REMAINING_HEADER",
                                 "LIMITREE_RESET_HEADER"}) {
    EXPECT_EQ(error({{name, "x y"}}),
              name + ": must be the name of a header, is 'x y'");
  }
}

TEST(Environment, SetsOptionsOfTheLibrary) {
  EXPECT_EQ(good({{"QUOTA_MODE", "1"},
                  {"STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT", "true"},
                  {"NEAR_LIMIT_RATIO", "0.7"},
                  {"LOCAL_CACHE_SIZE_IN_BYTES", "1600"}})
                .options,
            (Pairs{{"quota_mode", "on"},
                   {"stop_increment", "on"},
                   {"near_limit", "0.7"},
                   {"over_cache_size", "100"}}));
  EXPECT_EQ(good({{"QUOTA_MODE", "false"},
                  {"LOCAL_CACHE_SIZE_IN_BYTES", "9223372036854775807"}})
                .options,
            (Pairs{{"quota_mode", "off"}, {"over_cache_size", "10000000"}}));
}

TEST(Environment, PutsTheServiceInShadow) {
  EXPECT_FALSE(good({}).shadow);
  EXPECT_TRUE(good({{"SHADOW_MODE", "true"}}).shadow);
  EXPECT_TRUE(good({{"LIMITREE_SHADOW", "true"}}).shadow);
  EXPECT_FALSE(
      good({{"SHADOW_MODE", "true"}, {"LIMITREE_SHADOW", "false"}}).shadow);
}

TEST(Environment, ReportsWhereItIsTold) {
  ServeSettings settings = good({{"LOG_LEVEL", "WARN"},
                                 {"LOG_FORMAT", "json"},
                                 {"USE_STATSD", "true"},
                                 {"STATSD_HOST", "stats"},
                                 {"STATSD_PORT", "99"},
                                 {"STATSD_PROTOCOL", "udp"},
                                 {"EXTRA_TAGS", "a:1"},
                                 {"STATS_FLUSH_INTERVAL", "1s"},
                                 {"TRACING_ENABLED", "true"},
                                 {"TRACING_SERVICE_NAME", "n"},
                                 {"TRACING_SERVICE_NAMESPACE", "s"},
                                 {"TRACING_SERVICE_INSTANCE_ID", "i"},
                                 {"TRACING_SAMPLING_RATE", "0.5"},
                                 {"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:1"},
                                 {"OTEL_EXPORTER_OTLP_HEADERS", "a=1"},
                                 {"OTEL_EXPORTER_OTLP_CERTIFICATE", "ca"},
                                 {"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "c"},
                                 {"OTEL_EXPORTER_OTLP_CLIENT_KEY", "k"},
                                 {"OTEL_EXPORTER_OTLP_TIMEOUT", "5"}});
  EXPECT_EQ(settings.log.level, LogLevel::kWarning);
  EXPECT_TRUE(settings.log.json);
  EXPECT_EQ(settings.stats.format, StatsFormat::kStatsd);
  EXPECT_EQ(settings.stats.protocol, StatsProtocol::kUdp);
  EXPECT_EQ(settings.stats.host, "stats");
  EXPECT_EQ(settings.stats.port, 99);
  EXPECT_EQ(settings.stats.extra_tags, "a:1");
  EXPECT_EQ(settings.stats.flush_interval, kOneSecond);
  EXPECT_TRUE(settings.trace.enabled);
  EXPECT_EQ(settings.resource.service_name, "n");
  EXPECT_EQ(settings.resource.service_namespace, "s");
  EXPECT_EQ(settings.resource.service_instance_id, "i");
  EXPECT_EQ(settings.trace.sampling_rate, 0.5);
  EXPECT_EQ(settings.trace.endpoint, "http://c:1");
  EXPECT_EQ(settings.trace.headers, "a=1");
  EXPECT_EQ(settings.trace.ca_file, "ca");
  EXPECT_EQ(settings.trace.cert_file, "c");
  EXPECT_EQ(settings.trace.key_file, "k");
  EXPECT_EQ(settings.trace.timeout, 5 * kMillisecond);
  EXPECT_EQ(good({{"STATSD_HOST", "x"}}).stats.format, StatsFormat::kStatsd);
  EXPECT_EQ(good({{"STATSD_HOST", "x"}, {"DISABLE_STATS", "1"}}).stats.format,
            StatsFormat::kNone);
  EXPECT_EQ(good({{"LOG_LEVEL", "fatal"}}).log.level, LogLevel::kError);
  EXPECT_EQ(good({{"LOG_LEVEL", "debug"}}).log.level, LogLevel::kInfo);
  EXPECT_EQ(error({{"EXTRA_TAGS", "a"}}),
            "EXTRA_TAGS: must be name:value,name:value, is 'a'");
}

TEST(Environment, ReadsMogrifiers) {
  const StatsSettings stats = good({{"USE_DOG_STATSD", "true"},
                                    {"USE_DOG_STATSD_MOGRIFIERS", "ONE,two"},
                                    {"DOG_STATSD_MOGRIFIER_ONE_PATTERN", "^a"},
                                    {"DOG_STATSD_MOGRIFIER_ONE_NAME", "b"},
                                    {"DOG_STATSD_MOGRIFIER_ONE_TAGS", "c:$1"},
                                    {"DOG_STATSD_MOGRIFIER_TWO_PATTERN", "d"}})
                                  .stats;
  EXPECT_EQ(stats.format, StatsFormat::kDogStatsd);
  ASSERT_EQ(stats.mogrifiers.size(), 2u);
  EXPECT_EQ(stats.mogrifiers[0].name, "ONE");
  EXPECT_EQ(stats.mogrifiers[0].pattern, "^a");
  EXPECT_EQ(stats.mogrifiers[0].new_name, "b");
  EXPECT_EQ(stats.mogrifiers[0].tags, "c:$1");
  EXPECT_EQ(stats.mogrifiers[1].pattern, "d");
  EXPECT_EQ(error({{"USE_DOG_STATSD_MOGRIFIERS", "ONE"}}),
            "DOG_STATSD_MOGRIFIER_ONE_PATTERN: is needed, because "
            "USE_DOG_STATSD_MOGRIFIERS names it");
}

TEST(Environment, MakesTheUrlOfTheStore) {
  const auto url = [](const Variables& all) { return good(all).store.url; };
  EXPECT_EQ(url({{"BACKEND_TYPE", "redis"}}),
            "redis+unix:///var/run/nutcracker/ratelimit.sock");
  EXPECT_EQ(read({{"BACKEND_TYPE", "memory"}, {"REDIS_URL", "r:1"}})
                .settings.store.url,
            "");
  EXPECT_EQ(url({{"REDIS_URL", "r:6379"}}), "redis://r:6379");
  EXPECT_EQ(url({{"REDIS_URL", "r:1"}, {"REDIS_SOCKET_TYPE", "tcp"}}),
            "redis://r:1");
  EXPECT_EQ(url({{"REDIS_URL", "/run/r"}, {"REDIS_AUTH", "p/w"}}),
            "redis+unix://:p%2Fw@/run/r");
  EXPECT_EQ(url({{"REDIS_URL", "r:1"}, {"REDIS_AUTH", "me:p@:w"}}),
            "redis://me:p%40%3Aw@r:1");
  EXPECT_EQ(url({{"REDIS_URL", "redis://r:1/2"}}), "redis://r:1/2");
  EXPECT_EQ(url({{"REDIS_URL", "redis://r:1/2"}, {"REDIS_AUTH", "u:p"}}),
            "redis://u:p@r:1/2");
  EXPECT_EQ(url({{"REDIS_URL", "redis://:q@r:1"}, {"REDIS_AUTH", "p"}}),
            "redis://:q@r:1");
  EXPECT_EQ(url({{"REDIS_URL", "redis://r:1/2"},
                 {"REDIS_AUTH", "p"},
                 {"REDIS_TLS", "true"}}),
            "rediss://:p@r:1/2");
  EXPECT_EQ(url({{"REDIS_URL", "redis+cluster://r:1"}, {"REDIS_TLS", "true"}}),
            "rediss+cluster://r:1");
  EXPECT_EQ(url({{"REDIS_URL", "rediss://r:1"}, {"REDIS_TLS", "true"}}),
            "rediss://r:1");
  EXPECT_EQ(error({{"REDIS_URL", "redis+unix:///r"}, {"REDIS_TLS", "true"}}),
            "REDIS_TLS: is not possible on a Unix socket");
  EXPECT_EQ(url({{"REDIS_URL", "a:1, b:2"},
                 {"REDIS_TYPE", "cluster"},
                 {"REDIS_TLS", "true"}}),
            "rediss+cluster://a:1,b:2");
  EXPECT_EQ(url({{"REDIS_URL", "main,a:1,b:2"},
                 {"REDIS_TYPE", "SENTINEL"},
                 {"REDIS_AUTH", "p"}}),
            "redis+sentinel://:p@a:1,b:2/main");
}

TEST(Environment, MakesUrlsThatTheLibraryTakes) {
  for (const Variables& all : std::vector<Variables>{
           {{"BACKEND_TYPE", "redis"}},
           {{"REDIS_URL", "r:1"}, {"REDIS_AUTH", "me:\xc3\xa4@:w"}},
           {{"REDIS_URL", "a:1,b:2"}, {"REDIS_TYPE", "CLUSTER"}},
           {{"REDIS_URL", "main,a:1,b:2"},
            {"REDIS_TYPE", "SENTINEL"},
            {"REDIS_TIMEOUT", "10s"},
            {"CACHE_KEY_PREFIX", "x:"},
            {"REDIS_SENTINEL_AUTH", "a:b"}}}) {
    const ServeSettings settings = good(all);
    Config config;
    config.set("store", settings.store.url);
    for (const auto& [name, value] : settings.store.options) {
      config.set(name, value);
    }
    EXPECT_TRUE(Limiter(config).is_remote()) << settings.store.url;
  }
}

TEST(Environment, SetsOptionsOfTheStore) {
  ServeSettings settings = good({{"REDIS_URL", "main,a:1"},
                                 {"REDIS_TYPE", "SENTINEL"},
                                 {"REDIS_SENTINEL_AUTH", "u:p"},
                                 {"REDIS_TLS", "true"},
                                 {"REDIS_TLS_CACERT", "ca"},
                                 {"REDIS_TLS_CLIENT_CERT", "c"},
                                 {"REDIS_TLS_CLIENT_KEY", "k"},
                                 {"REDIS_TIMEOUT", "90s"},
                                 {"CACHE_KEY_PREFIX", "x:"}});
  EXPECT_EQ(settings.store.options, (Pairs{{"sentinel_username", "u"},
                                           {"sentinel_password", "p"},
                                           {"tls_ca_file", "ca"},
                                           {"tls_cert_file", "c"},
                                           {"tls_key_file", "k"},
                                           {"timeout", "60000ms"},
                                           {"connect_timeout", "60000ms"},
                                           {"prefix", "x:"}}));
}

// Which URL the store for limits of a second has.
std::string per_second(Variables all) {
  all.insert({{"REDIS_PERSECOND", "true"}, {"REDIS_URL", "a:1"}});
  for (const auto& [name, value] : good(all).store.options) {
    if (name == "per_second_store") return value;
  }
  return "none";
}

TEST(Environment, MakesTheUrlForLimitsOfASecond) {
  EXPECT_EQ(per_second({}),
            "redis+unix:///var/run/nutcracker/ratelimitpersecond.sock");
  EXPECT_EQ(per_second({{"REDIS_PERSECOND", "false"}}), "none");
  EXPECT_EQ(per_second({{"REDIS_PERSECOND_URL", "b:1"},
                        {"REDIS_PERSECOND_SOCKET_TYPE", "tcp"},
                        {"REDIS_PERSECOND_AUTH", "u:p@"},
                        {"REDIS_PERSECOND_TIMEOUT", "2s"}}),
            "redis://u:p%40@b:1?connect_timeout=2000ms");
  EXPECT_EQ(per_second({{"REDIS_PERSECOND_URL", "a:1,b:2"},
                        {"REDIS_PERSECOND_TYPE", "CLUSTER"},
                        {"REDIS_PERSECOND_AUTH_FILE", "/run/p w"}}),
            "redis+cluster://a:1,b:2?password_file=%2Frun%2Fp%20w");
  // The certificates are those of all servers.
  EXPECT_EQ(per_second({{"REDIS_PERSECOND_URL", "main,b:1"},
                        {"REDIS_PERSECOND_TYPE", "SENTINEL"},
                        {"REDIS_PERSECOND_SENTINEL_AUTH", "p"},
                        {"REDIS_PERSECOND_TLS", "true"},
                        {"REDIS_TLS_CACERT", "/ca"},
                        {"REDIS_TLS_SKIP_HOSTNAME_VERIFICATION", "true"}}),
            "rediss+sentinel://b:1/main?sentinel_password=p&tls_ca_file=%2Fca&"
            "tls_verify=authority");
  EXPECT_EQ(per_second({{"REDIS_PERSECOND_URL", "redis://b:1"},
                        {"REDIS_PERSECOND_AUTH", "p"},
                        {"REDIS_PERSECOND_TLS", "true"}}),
            "rediss://:p@b:1");
  EXPECT_EQ(error({{"REDIS_URL", "a:1"},
                   {"REDIS_PERSECOND", "true"},
                   {"REDIS_PERSECOND_URL", "redis://u:secret@b:x"}}),
            "REDIS_PERSECOND_URL: port must be 1 to 65535");
}

TEST(Environment, TakesTheFilesOfSecrets) {
  const ServeSettings settings = good({{"REDIS_URL", "main,a:1"},
                                       {"REDIS_TYPE", "SENTINEL"},
                                       {"REDIS_AUTH_FILE", "/run/one"},
                                       {"REDIS_SENTINEL_AUTH_FILE", "/two"}});
  EXPECT_EQ(settings.store.url, "redis+sentinel://a:1/main");
  EXPECT_EQ(settings.store.options,
            (Pairs{{"password_file", "/run/one"},
                   {"sentinel_password_file", "/two"}}));
  EXPECT_EQ(good({{"REDIS_URL", "a"}, {"REDIS_AUTH_FILE", "/x"}}).store.options,
            (Pairs{{"password_file", "/x"}}));
  const ServeSettings user = good(
      {{"REDIS_URL", "redis://alex@a:1"}, {"REDIS_AUTH_FILE", "/run/one"}});
  EXPECT_EQ(user.store.options, (Pairs{{"password_file", "/run/one"}}));
  EXPECT_EQ(good({{"REDIS_URL", "redis://:p@a:1"}, {"REDIS_AUTH_FILE", "/x"}})
                .store.options,
            Pairs());
  const ServeSettings headers =
      good({{"CONFIG_TYPE", "GRPC_XDS_SOTW"},
            {"CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS_FILE", "/x"},
            {"OTEL_EXPORTER_OTLP_TRACES_HEADERS_FILE", "/y"}});
  EXPECT_EQ(headers.xds.headers_file, "/x");
  EXPECT_EQ(headers.trace.headers_file, "/y");
  for (const std::string name :
       {"REDIS_AUTH", "CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS",
        "OTEL_EXPORTER_OTLP_HEADERS"}) {
    EXPECT_EQ(error({{"REDIS_URL", "a:1"},
                     {"CONFIG_TYPE", "GRPC_XDS_SOTW"},
                     {name, "a:b=c"},
                     {name + "_FILE", "x"}}),
              name + "_FILE: excludes " + name);
  }
  const std::string no_secret =
      error({{"CONFIG_TYPE", "GRPC_XDS_SOTW"},
             {"CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS", "secret"}});
  EXPECT_EQ(no_secret,
            "CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS: one is not "
            "NAME:VALUE");
}

TEST(Environment, PrefersWhatIsForTracesAlone) {
  const TraceSettings trace =
      good({{"OTEL_EXPORTER_OTLP_HEADERS", "a=1"},
            {"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "a=2"},
            {"OTEL_EXPORTER_OTLP_TIMEOUT", "5"},
            {"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "6"},
            {"OTEL_EXPORTER_OTLP_CERTIFICATE", "ca"},
            {"OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "ca2"},
            {"OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE", "c2"},
            {"OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY", "k2"}})
          .trace;
  EXPECT_EQ(trace.headers, "a=2");
  EXPECT_EQ(trace.timeout, 6 * kMillisecond);
  EXPECT_EQ(trace.ca_file, "ca2");
  EXPECT_EQ(trace.cert_file, "c2");
  EXPECT_EQ(trace.key_file, "k2");
}

TEST(Environment, SendsMetricsToACollectorIfItIsTold) {
  const MetricSettings none =
      good({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:1"},
            {"TRACING_ENABLED", "true"}})
          .metrics;
  EXPECT_FALSE(none.enabled);
  EXPECT_EQ(none.interval, 60 * kOneSecond);
  const ServeSettings all =
      good({{"OTEL_METRICS_EXPORTER", "prometheus,otlp"},
            {"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:1"},
            {"OTEL_EXPORTER_OTLP_HEADERS", "a=1"},
            {"OTEL_EXPORTER_OTLP_METRICS_HEADERS", "a=2"},
            {"OTEL_EXPORTER_OTLP_CLIENT_KEY", "k"},
            {"OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "7"},
            {"OTEL_METRIC_EXPORT_INTERVAL", "5000"},
            {"OTEL_SERVICE_NAME", "limits"},
            {"OTEL_RESOURCE_ATTRIBUTES", "pod=x"},
            {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"},
            {"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "http/protobuf"}});
  EXPECT_TRUE(all.metrics.enabled);
  EXPECT_EQ(signal_url(all.metrics), "http://c:1/v1/metrics");
  EXPECT_EQ(all.metrics.headers, "a=2");
  EXPECT_EQ(all.trace.headers, "a=1");
  EXPECT_EQ(all.metrics.key_file, "k");
  EXPECT_EQ(all.metrics.timeout, 7 * kMillisecond);
  EXPECT_EQ(all.trace.timeout, 10 * kOneSecond);
  EXPECT_EQ(all.metrics.interval, 5 * kOneSecond);
  EXPECT_EQ(all.resource.service_name, "limits");
  EXPECT_EQ(all.resource.attributes, "pod=x");
  const std::string endpoint = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT";
  EXPECT_EQ(signal_url(good({{endpoint, "http://m"}}).metrics), "http://m");
  EXPECT_TRUE(good({{endpoint, "http://m"}}).metrics.enabled);
  EXPECT_FALSE(good({{endpoint, "http://m"}, {"OTEL_METRICS_EXPORTER", "none"}})
                   .metrics.enabled);
}

TEST(Environment, NamesWhatMetricsCannotBe) {
  const std::string endpoint = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT";
  const std::string delta = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE";
  EXPECT_EQ(warning({{endpoint, "http://m"}, {delta, "delta"}}),
            delta + ": sums are always cumulative");
  EXPECT_EQ(
      warning(
          {{endpoint, "http://m"}, {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}}),
      "OTEL_EXPORTER_OTLP_PROTOCOL: metrics are sent by http/protobuf only; "
      "none are sent");
}

TEST(Environment, DoesNotTraceByAProtocolThatItDoesNotHave) {
  const Read made = read(
      {{"TRACING_ENABLED", "true"}, {"TRACING_EXPORTER_PROTOCOL", "GRPC"}});
  EXPECT_FALSE(made.settings.trace.enabled);
  ASSERT_EQ(made.report.warnings.size(), 1u);
  EXPECT_EQ(made.report.warnings[0],
            "TRACING_EXPORTER_PROTOCOL: spans are sent by OTLP over HTTP only; "
            "none are sent");
  EXPECT_TRUE(
      good({{"TRACING_ENABLED", "true"}, {"TRACING_EXPORTER_PROTOCOL", "http"}})
          .trace.enabled);
  EXPECT_TRUE(
      read({{"TRACING_EXPORTER_PROTOCOL", "grpc"}}).report.warnings.empty());
}

TEST(Environment, RefusesStoresThatAreNotThere) {
  EXPECT_EQ(error({{"BACKEND_TYPE", "etcd"}}),
            "BACKEND_TYPE: must be redis, memory or memcache, is 'etcd'");
  EXPECT_EQ(error({{"REDIS_URL", "a:1"}, {"REDIS_TYPE", "SENTINEL"}}),
            "REDIS_URL: must be the name of the primary, a comma and the "
            "sentinels if REDIS_TYPE is SENTINEL");
  EXPECT_EQ(error({{"REDIS_URL", "a:1"}, {"REDIS_SOCKET_TYPE", "unix"}}),
            "REDIS_URL: must be the path of a socket from the root, because "
            "REDIS_SOCKET_TYPE is unix");
  EXPECT_EQ(error({{"REDIS_URL", "/a"}, {"REDIS_TLS", "1"}}),
            "REDIS_TLS: is not possible on a Unix socket");
  EXPECT_EQ(error({{"REDIS_URL", "a:1"}, {"REDIS_TYPE", "RING"}}),
            "REDIS_TYPE: must be SINGLE, SENTINEL or CLUSTER, is 'RING'");
}

// Of values that only the library knows to be wrong, too.
TEST(Environment, NamesEachVariableThatIsRefused) {
  EXPECT_EQ(error({{"REDIS_URL", "redis://a:99999"}}),
            "REDIS_URL: port must be 1 to 65535, is \"99999\"");
  EXPECT_EQ(error({{"REDIS_URL", "a:1,b:x"}, {"REDIS_TYPE", "CLUSTER"}}),
            "REDIS_URL: port must be 1 to 65535");
  EXPECT_EQ(error({{"CONFIG_TYPE", "GRPC_XDS_SOTW"},
                   {"CONFIG_GRPC_XDS_SERVER_URL", "a"}}),
            "CONFIG_GRPC_XDS_SERVER_URL: 'a' is not a place such as "
            "localhost:18000");
  EXPECT_EQ(error({{"USE_PROMETHEUS", "1"}, {"PROMETHEUS_ADDR", "a:b"}}),
            "PROMETHEUS_ADDR: must be an address such as :9090, is 'a:b'");
}

TEST(Environment, NamesWhatHasNoEffectInOneWarning) {
  Variables all;
  std::string names;
  for (const std::string& name : variables_without_effect()) {
    all[name] = "1";
    names += (names.empty() ? "" : ", ") + name;
  }
  EXPECT_EQ(warning(all), "no effect: " + names);
  EXPECT_EQ(warning({{"REDIS_POOL_SIZE", "20"}}), "no effect: REDIS_POOL_SIZE");
}

TEST(Environment, WarnsOfWhatIsDifferent) {
  EXPECT_EQ(warning({{"REDIS_PERSECOND_URL", "b:1"}, {"REDIS_URL", "a:1"}}),
            "REDIS_PERSECOND_URL: no effect without REDIS_PERSECOND");
  EXPECT_EQ(warning({{"REDIS_AUTH", "secret"}}),
            "REDIS_AUTH: no effect without REDIS_URL or BACKEND_TYPE=redis");
  EXPECT_EQ(warning({{"BACKEND_TYPE", "memory"},
                     {"REDIS_URL", "a:1"},
                     {"REDIS_PERSECOND_URL", "b:1"}}),
            "REDIS_URL, REDIS_PERSECOND_URL: no effect with "
            "BACKEND_TYPE=memory");
  EXPECT_EQ(warning({{"REDIS_URL", "a:1"}, {"REDIS_TLS_CACERT", "ca"}}),
            "REDIS_TLS_CACERT: no effect without REDIS_TLS");
  EXPECT_EQ(warning({{"PROMETHEUS_ADDR", ":1"}}),
            "PROMETHEUS_ADDR: no effect without USE_PROMETHEUS");
  EXPECT_EQ(warning({{"PROMETHEUS_PATH", "/m"}}),
            "PROMETHEUS_PATH: no effect without USE_PROMETHEUS");
  EXPECT_EQ(good({{"REDIS_URL", "a:1"},
                  {"REDIS_TLS", "true"},
                  {"REDIS_TLS_SKIP_HOSTNAME_VERIFICATION", "true"}})
                .store.options,
            (Pairs{{"tls_verify", "authority"}}));
}

TEST(Environment, ReportsAllMistakesAtOnce) {
  const Read made = read({{"GRPC_PORT", "x"}, {"LOG_LEVEL", "loud"}});
  EXPECT_EQ(made.report.errors.size(), 2u);
}

}  // namespace
}  // namespace limitree::server
