// The table of options.

#include "config/environment.hpp"
#include "config/options.hpp"

namespace limitree::server {

namespace {

using S = ServeSettings;

constexpr ValueKind kSwitch;
constexpr ValueKind kFile{"FILE"};
constexpr ValueKind kDuration{"DURATION"};
constexpr ValueKind kShare{"SHARE"};

constexpr ValueKind text(const char* value) { return {value}; }
constexpr ValueKind list(const char* value) { return {value, true}; }
constexpr ValueKind number(std::int64_t most) { return {"N", false, 1, most}; }
constexpr ValueKind one_of(const char* value, const char* words) {
  return {value, false, 1, 0, words};
}

constexpr const char* kAddresses = "Addresses";
constexpr const char* kDescriptors = "Descriptors";
constexpr const char* kXds = "Descriptors by xDS";
constexpr const char* kAnswers = "Answers";
constexpr const char* kBuckets = "Buckets";
constexpr const char* kTls = "TLS";
constexpr const char* kConnections = "Connections";
constexpr const char* kReports = "Statistics and traces";
constexpr const char* kProcess = "Process";

template <ListenFor purpose>
void set_places_for(const Given& given, S* settings) {
  set_places(purpose, given, settings);
}

// There, 0 is no limit.
void read_max_age(EnvironmentReader* reader, S* settings) {
  Nanoseconds* const age = &settings->connection.max_age;
  if (reader->set("GRPC_MAX_CONNECTION_AGE", age) && *age == 0) *age = kNever;
}

void read_dot_files(EnvironmentReader* reader, S* settings) {
  bool* const reads = &settings->descriptors.dot_files;
  *reads = !reader->is_on("RUNTIME_IGNOREDOTFILES", !*reads);
}

void read_random(EnvironmentReader* reader, S* settings) {
  reader->set("XDS_CLIENT_BACKOFF_RANDOM_FACTOR", &settings->xds.random);
  if (!reader->is_on("XDS_CLIENT_BACKOFF_JITTER", true)) {
    settings->xds.random = 0;
  }
}

// Milliseconds.
void read_otlp_timeout(EnvironmentReader* reader, S* settings) {
  for (const char* name :
       {"OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT"}) {
    std::size_t wait = 0;
    if (reader->set(name, &wait, number(3'600'000))) {
      settings->trace.timeout = static_cast<Nanoseconds>(wait) * kMillisecond;
    }
  }
}

void read_tags(EnvironmentReader* reader, S* settings) {
  Pairs tags;
  if (!reader->set("EXTRA_TAGS", &tags)) return;
  reader->set("EXTRA_TAGS", &settings->stats.extra_tags);
}

constexpr Option kOptions[] = {
    {"", "limits,--limits", kFile, "", "a limits.yaml",
     [](S* s) -> Target { return &s->limits; }},

    {kAddresses, "-l,--listen", list("ADDRESS"), "GRPC_HOST GRPC_PORT GRPC_UDS",
     "gRPC: 127.0.0.1:8081, [::1]:8081, :8081, unix:FILE",
     set_places_for<ListenFor::kGrpc>, read_grpc_place},
    {kAddresses, "--http-listen", list("ADDRESS"), "HOST PORT",
     "HTTP: /v1, /json and /healthcheck", set_places_for<ListenFor::kHttp>,
     read_http_place},
    {kAddresses, "--https-listen", list("ADDRESS"), "",
     "the same with TLS, by --tls-cert", set_places_for<ListenFor::kHttps>},
    {kAddresses, "--admin-listen", list("ADDRESS"), "DEBUG_HOST DEBUG_PORT",
     "HTTP: pages for people and Prometheus", set_places_for<ListenFor::kAdmin>,
     read_admin_place},
    {kAddresses, "--metrics-listen", list("ADDRESS"),
     "USE_PROMETHEUS PROMETHEUS_ADDR", "HTTP: only the page for Prometheus",
     set_places_for<ListenFor::kMetrics>, read_metrics_place},
    {kAddresses, "--metrics-path", text("PATH"), "PROMETHEUS_PATH",
     "the path of that page (/metrics)", set_metrics_path, nullptr,
     "USE_PROMETHEUS"},
    {kAddresses, "--http-host", list("NAME"), "",
     "another name for HTTP on the loopback device",
     [](S* s) -> Target { return &s->http_hosts; }},
    {kAddresses, "--plain-http", kSwitch, "",
     "with --tls-client-ca: let HTTP be without TLS",
     [](S* s) -> Target { return &s->allows_plain_http; }},
    {kAddresses, "--share-ports", kSwitch, "",
     "beside a service that listens there already",
     [](S* s) -> Target { return &s->shares_ports; }},

    {kDescriptors, "-d,--descriptors", list("PLACE"),
     "CONFIG_TYPE RUNTIME_ROOT RUNTIME_SUBDIRECTORY RUNTIME_APPDIRECTORY "
     "RUNTIME_WATCH_ROOT",
     "a file with limits of Envoy, or a folder of such", set_descriptors,
     read_folder},
    {kDescriptors, "--merge-domains", kSwitch, "MERGE_DOMAIN_CONFIG",
     "let several files have one domain",
     [](S* s) -> Target { return &s->descriptors.merge_domains; }},
    {kDescriptors, "--dot-files", kSwitch, "RUNTIME_IGNOREDOTFILES",
     "read also files whose names begin with a dot",
     [](S* s) -> Target { return &s->descriptors.dot_files; }, read_dot_files},
    {kDescriptors, "--start-without", kSwitch,
     "FORCE_START_WITHOUT_INITIAL_CONFIG",
     "start even without descriptors that are valid",
     [](S* s) -> Target { return &s->starts_without_descriptors; }},
    {kDescriptors, "--healthy-with", kSwitch,
     "HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED",
     "be healthy only with at least one domain",
     [](S* s) -> Target { return &s->health.needs_domain; }},

    {kXds, "--xds", text("HOST:PORT"), "CONFIG_TYPE CONFIG_GRPC_XDS_SERVER_URL",
     "a server that descriptors come from", set_xds, read_xds},
    {kXds, "--xds-node", text("NAME"), "CONFIG_GRPC_XDS_NODE_ID",
     "what it knows this service as",
     [](S* s) -> Target { return &s->xds.node_id; }},
    {kXds, "--xds-metadata", list("NAME=VALUE"),
     "CONFIG_GRPC_XDS_NODE_METADATA", "metadata of the node",
     [](S* s) -> Target { return &s->xds.node_metadata; }},
    {kXds, "--xds-header", list("NAME:VALUE"),
     "CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS",
     "a field for the header of requests",
     [](S* s) -> Target { return &s->xds.headers; }},
    {kXds, "--xds-tls", kSwitch, "CONFIG_GRPC_XDS_SERVER_USE_TLS",
     "connect with TLS", [](S* s) -> Target { return &s->xds.tls.on; }},
    {kXds, "--xds-ca", kFile, "CONFIG_GRPC_XDS_SERVER_TLS_CACERT",
     "who signs its certificate (those of the system)",
     [](S* s) -> Target { return &s->xds.tls.ca_file; }},
    {kXds, "--xds-cert", kFile, "CONFIG_GRPC_XDS_CLIENT_TLS_CERT",
     "a certificate for it",
     [](S* s) -> Target { return &s->xds.tls.cert_file; }},
    {kXds, "--xds-key", kFile, "CONFIG_GRPC_XDS_CLIENT_TLS_KEY", "its key",
     [](S* s) -> Target { return &s->xds.tls.key_file; }},
    {kXds, "--xds-name", text("NAME"), "CONFIG_GRPC_XDS_SERVER_TLS_SAN",
     "the name in its certificate (the host)",
     [](S* s) -> Target { return &s->xds.tls.server_name; }},
    {kXds, "--xds-wait", kDuration,
     "CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL "
     "XDS_CLIENT_BACKOFF_INITIAL_INTERVAL",
     "the wait before it connects again",
     [](S* s) -> Target { return &s->xds.first_wait; }},
    {kXds, "--xds-max-wait", kDuration, "XDS_CLIENT_BACKOFF_MAX_INTERVAL",
     "the wait doubles up to this",
     [](S* s) -> Target { return &s->xds.last_wait; }},
    {kXds, "--xds-jitter", kShare,
     "XDS_CLIENT_BACKOFF_RANDOM_FACTOR XDS_CLIENT_BACKOFF_JITTER",
     "by which share a wait may differ",
     [](S* s) -> Target { return &s->xds.random; }, read_random},
    {kXds, "--xds-max-message", number(1 << 30),
     "XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES", "bytes of a configuration",
     [](S* s) -> Target { return &s->xds.max_message_bytes; }},

    {kAnswers, "--answer-headers", kSwitch, "LIMIT_RESPONSE_HEADERS_ENABLED",
     "add RateLimit-* headers to answers to Envoy",
     [](S* s) -> Target { return &s->answers.headers; }},
    {kAnswers, "--limit-header", text("NAME"), "LIMIT_LIMIT_HEADER",
     "header of the limit",
     [](S* s) -> Target { return &s->answers.limit_header; }},
    {kAnswers, "--remaining-header", text("NAME"), "LIMIT_REMAINING_HEADER",
     "header of what is left",
     [](S* s) -> Target { return &s->answers.remaining_header; }},
    {kAnswers, "--reset-header", text("NAME"), "LIMIT_RESET_HEADER",
     "header of the time to wait",
     [](S* s) -> Target { return &s->answers.reset_header; }},
    {kAnswers, "--dynamic-metadata", kSwitch, "RESPONSE_DYNAMIC_METADATA",
     "add dynamic metadata to answers to Envoy",
     [](S* s) -> Target { return &s->answers.dynamic_metadata; }},
    {kAnswers, "--http-headers", text("STYLE"), "",
     "style of the headers of /v1",
     [](S* s) -> Target { return &s->header_style; }},

    {kBuckets, "-u,--store", text("URL"),
     "BACKEND_TYPE REDIS_URL REDIS_TYPE REDIS_SOCKET_TYPE REDIS_AUTH "
     "REDIS_SENTINEL_AUTH REDIS_TLS REDIS_TLS_CACERT REDIS_TLS_CLIENT_CERT "
     "REDIS_TLS_CLIENT_KEY REDIS_TLS_SKIP_HOSTNAME_VERIFICATION REDIS_TIMEOUT "
     "REDIS_PERSECOND CACHE_KEY_PREFIX",
     "where the buckets are, such as redis://HOST:6379", set_store, read_store},
    {kBuckets, "--set", list("NAME=VALUE"),
     "SHADOW_MODE QUOTA_MODE STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT "
     "NEAR_LIMIT_RATIO LOCAL_CACHE_SIZE_IN_BYTES",
     "an option of the library", set_library_options, read_library_options},
    {kBuckets, "--check-store", kSwitch, "REDIS_HEALTH_CHECK_ACTIVE_CONNECTION",
     "be healthy only while the store answers",
     [](S* s) -> Target { return &s->health.needs_store; }},

    {kTls, "--tls-cert", kFile, "GRPC_SERVER_TLS_CERT",
     "certificate chain; turns TLS on",
     [](S* s) -> Target { return &s->tls.cert_file; }, nullptr,
     "GRPC_SERVER_USE_TLS"},
    {kTls, "--tls-key", kFile, "GRPC_SERVER_TLS_KEY", "its key",
     [](S* s) -> Target { return &s->tls.key_file; }, nullptr,
     "GRPC_SERVER_USE_TLS"},
    {kTls, "--tls-client-ca", kFile, "GRPC_CLIENT_TLS_CACERT",
     "who signs the certificates of clients",
     [](S* s) -> Target { return &s->tls.client_ca_file; }, nullptr,
     "GRPC_SERVER_USE_TLS"},
    {kTls, "--tls-client-name", list("NAME"), "GRPC_CLIENT_TLS_SAN",
     "a name that these must have",
     [](S* s) -> Target { return &s->tls.client_names; }, nullptr,
     "GRPC_SERVER_USE_TLS"},
    {kTls, "--admin-token-file", kFile, "",
     "token of who may reset, refund and spend",
     [](S* s) -> Target { return &s->admin_token_file; }},

    {kConnections, "--max-streams", number(1'000'000), "",
     "calls of one connection at a time",
     [](S* s) -> Target { return &s->connection.max_streams; }},
    {kConnections, "--max-message", number(1 << 30), "", "bytes of a request",
     [](S* s) -> Target { return &s->max_message_bytes; }},
    {kConnections, "--max-connections", number(10'000'000), "",
     "connections at a time",
     [](S* s) -> Target { return &s->max_connections; }},
    {kConnections, "--max-buffered", number(INT32_MAX), "",
     "bytes that clients may make it hold",
     [](S* s) -> Target { return &s->max_buffered_bytes; }},
    {kConnections, "--keepalive-time", kDuration, "",
     "silence after which clients are pinged",
     [](S* s) -> Target { return &s->connection.keepalive_time; }},
    {kConnections, "--keepalive-timeout", kDuration, "",
     "time for their answer",
     [](S* s) -> Target { return &s->connection.keepalive_timeout; }},
    {kConnections, "--max-connection-idle", kDuration, "",
     "time that a connection has no call",
     [](S* s) -> Target { return &s->connection.max_idle; }},
    {kConnections, "--max-connection-age", kDuration, "GRPC_MAX_CONNECTION_AGE",
     "how long a connection lasts",
     [](S* s) -> Target { return &s->connection.max_age; }, read_max_age},
    {kConnections, "--max-connection-grace", kDuration,
     "GRPC_MAX_CONNECTION_AGE_GRACE", "and then its open calls",
     [](S* s) -> Target { return &s->connection.max_age_grace; }},

    {kReports, "--statsd", text("URL"),
     "USE_STATSD USE_DOG_STATSD DISABLE_STATS STATSD_HOST STATSD_PORT "
     "STATSD_PROTOCOL",
     "statistics: tcp://HOST:PORT, or udp, dogstatsd", set_statsd, read_statsd},
    {kReports, "--stats-interval", kDuration, "STATS_FLUSH_INTERVAL",
     "how often they are sent",
     [](S* s) -> Target { return &s->stats.flush_interval; }},
    {kReports, "--stats-tags", text("TAGS"), "EXTRA_TAGS",
     "tags that they carry: NAME:VALUE,NAME:VALUE",
     [](S* s) -> Target { return &s->stats.extra_tags; }, read_tags},
    {kReports, "--mogrifier", list("RULE"),
     "USE_DOG_STATSD_MOGRIFIERS DOG_STATSD_MOGRIFIER_<N>_PATTERN "
     "DOG_STATSD_MOGRIFIER_<N>_NAME DOG_STATSD_MOGRIFIER_<N>_TAGS",
     "another name for some: \"PATTERN NAME TAGS\"", set_mogrifiers,
     read_mogrifiers},
    {kReports, "--otlp", text("URL"),
     "TRACING_ENABLED TRACING_EXPORTER_PROTOCOL OTEL_EXPORTER_OTLP_ENDPOINT "
     "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
     "spans, by OTLP: http://HOST:4318", set_otlp, read_otlp},
    {kReports, "--otlp-headers", text("FIELDS"),
     "OTEL_EXPORTER_OTLP_HEADERS OTEL_EXPORTER_OTLP_TRACES_HEADERS",
     "fields for them: NAME=VALUE,NAME=VALUE",
     [](S* s) -> Target { return &s->trace.headers; }},
    {kReports, "--otlp-timeout", kDuration,
     "OTEL_EXPORTER_OTLP_TIMEOUT OTEL_EXPORTER_OTLP_TRACES_TIMEOUT",
     "time for sending them", [](S* s) -> Target { return &s->trace.timeout; },
     read_otlp_timeout},
    {kReports, "--otlp-ca", kFile,
     "OTEL_EXPORTER_OTLP_CERTIFICATE OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE",
     "who signs the certificate (those of the system)",
     [](S* s) -> Target { return &s->trace.ca_file; }},
    {kReports, "--otlp-cert", kFile,
     "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE "
     "OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE",
     "a certificate for the collector",
     [](S* s) -> Target { return &s->trace.cert_file; }},
    {kReports, "--otlp-key", kFile,
     "OTEL_EXPORTER_OTLP_CLIENT_KEY OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY",
     "its key", [](S* s) -> Target { return &s->trace.key_file; }},
    {kReports, "--sampling-rate", kShare, "TRACING_SAMPLING_RATE",
     "share of requests that have a span",
     [](S* s) -> Target { return &s->trace.sampling_rate; }},
    {kReports, "--trace-service", text("NAME"), "TRACING_SERVICE_NAME",
     "what spans call the service",
     [](S* s) -> Target { return &s->trace.service_name; }},
    {kReports, "--trace-namespace", text("NAME"), "TRACING_SERVICE_NAMESPACE",
     "and its namespace",
     [](S* s) -> Target { return &s->trace.service_namespace; }},
    {kReports, "--trace-instance", text("NAME"), "TRACING_SERVICE_INSTANCE_ID",
     "and this process (random)",
     [](S* s) -> Target { return &s->trace.service_instance_id; }},

    {kProcess, "-w,--workers", number(1024), "",
     "threads (as many as processors)",
     [](S* s) -> Target { return &s->workers; }},
    {kProcess, "--drain-delay", kDuration, "",
     "after SIGTERM: time of NOT_SERVING",
     [](S* s) -> Target { return &s->drain_delay; }},
    {kProcess, "--drain-grace", kDuration, "",
     "after that: time for open calls",
     [](S* s) -> Target { return &s->drain_grace; }},
    {kProcess, "--log-level", one_of("LEVEL", "error warning info"),
     "LOG_LEVEL", "error, warning or info (info)", set_log_level},
    {kProcess, "--log-format", one_of("FORMAT", "text json"), "LOG_FORMAT",
     "text or json (text)", set_log_format},
};

}  // namespace

std::span<const Option> all_options() { return kOptions; }

}  // namespace limitree::server
