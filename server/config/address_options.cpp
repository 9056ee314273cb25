// Options: what is served, where, and what a client may cost.

#include "config/options.hpp"
#include "io/address.hpp"
#include "io/failure.hpp"

namespace limitree::server {

namespace {

constexpr const char* kGroup = "Addresses";

// Replaces the addresses for `purpose`.
void listen_at(ListenFor purpose, const std::vector<std::string>& addresses,
               ServeSettings* settings) {
  std::erase_if(settings->places, [&](const ListenPlace& place) {
    return place.purpose == purpose;
  });
  for (const std::string& address : addresses) {
    settings->places.push_back({purpose, address});
  }
}

// The variables for one purpose, and the defaults if one of the two is missing.
struct AddressVariables {
  ListenFor purpose;
  const char* host;
  const char* port;
  const char* default_host;
  std::size_t default_port;
};

constexpr AddressVariables kGrpcAddress{ListenFor::kGrpc, "GRPC_HOST",
                                        "GRPC_PORT", "", 8081};
constexpr AddressVariables kHttpAddress{ListenFor::kHttp, "HOST", "PORT", "",
                                        8080};
// By default, only clients on this machine may read the configuration.
constexpr AddressVariables kAdminAddress{ListenFor::kAdmin, "DEBUG_HOST",
                                         "DEBUG_PORT", "127.0.0.1", 6070};

template <const AddressVariables& variables>
void read_address(EnvironmentReader* reader, ServeSettings* settings) {
  if (!reader->has(variables.host) && !reader->has(variables.port)) return;
  const std::string host =
      reader->text(variables.host).value_or(variables.default_host);
  std::size_t port = variables.default_port;
  reader->set(variables.port, &port, number_kind(65535, 0));
  try {
    listen_at(variables.purpose,
              {address_of(host, static_cast<std::uint16_t>(port))}, settings);
  } catch (const Failure& failure) {
    reader->fail(variables.host, failure.what());
  }
}

void read_grpc_address(EnvironmentReader* reader, ServeSettings* settings) {
  read_address<kGrpcAddress>(reader, settings);
  if (const auto path = reader->text("GRPC_UDS")) {
    listen_at(ListenFor::kGrpc, {"unix:" + *path}, settings);
  }
}

constexpr Condition kHasMetrics{
    "USE_PROMETHEUS",
    [](EnvironmentReader* reader) { return reader->is_on("USE_PROMETHEUS"); }};

void read_metrics_address(EnvironmentReader* reader, ServeSettings* settings) {
  if (!kHasMetrics.holds(reader)) {
    return reader->warn_unused("PROMETHEUS_ADDR", "without USE_PROMETHEUS");
  }
  listen_at(ListenFor::kMetrics, {":9090"}, settings);
  reader->set("PROMETHEUS_ADDR", [&](const OptionValue& value) {
    try {
      ListenAddress::parse(value.text());
    } catch (const Failure&) {
      refuse(value, "an address such as :9090");
    }
    listen_at(ListenFor::kMetrics, value.values, settings);
  });
  // Envoy Gateway always sets it, to a file that says what is so anyway.
  if (reader->has("PROMETHEUS_MAPPER_YAML")) {
    reader->warn(
        "PROMETHEUS_MAPPER_YAML: this file is not read; metrics have the names "
        "and labels of envoyproxy/ratelimit's own mapper");
  }
}

constexpr Condition kUsesTls{"GRPC_SERVER_USE_TLS",
                             [](EnvironmentReader* reader) {
                               return reader->is_on("GRPC_SERVER_USE_TLS");
                             }};

// An option replaces variables for the same purpose, and all default addresses.
Target places_for(ListenFor purpose, ServeSettings* settings) {
  return [=](const OptionValue& value) {
    std::erase_if(settings->places,
                  [](const ListenPlace& place) { return place.is_default; });
    listen_at(purpose, value.values, settings);
  };
}

}  // namespace

std::vector<Option> address_options(ServeSettings* s) {
  return {
      {"", "limits,--limits", kFile, "", "a limits.yaml", &s->limits},
      {kGroup, "-l,--listen", list_kind("ADDRESS"),
       "GRPC_HOST GRPC_PORT GRPC_UDS",
       "gRPC: 127.0.0.1:8081, [::1]:8081, :8081, unix:FILE",
       places_for(ListenFor::kGrpc, s), read_grpc_address},
      {kGroup, "--http-listen", list_kind("ADDRESS"), "HOST PORT",
       "HTTP: /v1, /json and /healthcheck", places_for(ListenFor::kHttp, s),
       read_address<kHttpAddress>},
      {kGroup, "--https-listen", list_kind("ADDRESS"), "",
       "the same with TLS, by --tls-cert", places_for(ListenFor::kHttps, s)},
      {kGroup, "--admin-listen", list_kind("ADDRESS"), "DEBUG_HOST DEBUG_PORT",
       "HTTP: pages for people and Prometheus",
       places_for(ListenFor::kAdmin, s), read_address<kAdminAddress>},
      {kGroup, "--metrics-listen", list_kind("ADDRESS"),
       "USE_PROMETHEUS PROMETHEUS_ADDR PROMETHEUS_MAPPER_YAML",
       "HTTP: only the page for Prometheus", places_for(ListenFor::kMetrics, s),
       read_metrics_address},
      {kGroup, "--metrics-path", text_kind("PATH"), "PROMETHEUS_PATH",
       "the path of that page (/metrics)",
       [s](const OptionValue& value) {
         s->metrics_path = value.text();
         if (!s->metrics_path.starts_with('/')) {
           refuse(value, "a path such as /metrics");
         }
       },
       nullptr, &kHasMetrics},
      {kGroup, "--http-host", list_kind("NAME"), "",
       "another name for HTTP on the loopback device", &s->http_hosts},
      {kGroup, "--plain-http", kSwitch, "",
       "with --tls-client-ca: let HTTP be without TLS", &s->allows_plain_http},
      {kGroup, "--share-ports", kSwitch, "",
       "beside a service that listens there already", &s->shares_ports}};
}

std::vector<Option> connection_options(ServeSettings* s) {
  constexpr const char* kTls = "TLS";
  constexpr const char* kConnections = "Connections";
  ConnectionSettings* const one = &s->connection;
  return {
      {kTls, "--tls-cert", kFile, "GRPC_SERVER_TLS_CERT",
       "certificate chain; turns TLS on", &s->tls.cert_file, nullptr,
       &kUsesTls},
      {kTls, "--tls-key", kFile, "GRPC_SERVER_TLS_KEY", "its key",
       &s->tls.key_file, nullptr, &kUsesTls},
      {kTls, "--tls-client-ca", kFile, "GRPC_CLIENT_TLS_CACERT",
       "who signs the certificates of clients", &s->tls.client_ca_file, nullptr,
       &kUsesTls},
      {kTls, "--tls-client-name", list_kind("NAME"), "GRPC_CLIENT_TLS_SAN",
       "a name that these must have", &s->tls.client_names, nullptr, &kUsesTls},
      {kTls, "--admin-token-file", kFile, "",
       "token of who may change buckets and limits", &s->admin_token_file},

      {kConnections, "--max-streams", number_kind(1'000'000), "",
       "calls of one connection at a time", &one->max_streams},
      {kConnections, "--max-message", number_kind(1 << 30), "",
       "bytes of a request", &s->max_message_bytes},
      {kConnections, "--max-connections", number_kind(10'000'000), "",
       "connections at a time", &s->max_connections},
      {kConnections, "--max-buffered", number_kind(INT32_MAX), "",
       "bytes that clients may make it hold", &s->max_buffered_bytes},
      {kConnections, "--keepalive-time", kDuration, "",
       "silence after which clients are pinged (5m)",
       more_than_zero(&one->keepalive_time)},
      {kConnections, "--keepalive-timeout", kDuration, "",
       "time for their answer (20s)", more_than_zero(&one->keepalive_timeout)},
      {kConnections, "--max-connection-idle", kDuration, "",
       "time that a connection has no call (0: no limit)",
       limit_or_zero(&one->max_idle)},
      {kConnections, "--max-connection-age", kDuration,
       "GRPC_MAX_CONNECTION_AGE",
       "how long a connection lasts, 0 for no limit (24h)",
       limit_or_zero(&one->max_age)},
      {kConnections, "--max-connection-grace", kDuration,
       "GRPC_MAX_CONNECTION_AGE_GRACE",
       "and then its open calls, 0 for no limit (1h)",
       limit_or_zero(&one->max_age_grace)}};
}

std::string place_text(ListenFor purpose, const std::string& address) {
  static constexpr const char* kSchemes[] = {
      "", "http://", "https://", "admin http://", "metrics http://"};
  return kSchemes[static_cast<std::size_t>(purpose)] + address;
}

// Leaves out ListenFor::kMetrics, which changes nothing and has no default
// address.
void keep_plain_http_local(ServeSettings* settings) {
  if (settings->tls.client_ca_file.empty() || settings->allows_plain_http) {
    return;
  }
  for (ListenPlace& place : settings->places) {
    const bool plain =
        place.purpose == ListenFor::kHttp || place.purpose == ListenFor::kAdmin;
    if (!plain || ListenAddress::parse(place.address).is_local()) continue;
    if (!place.is_default) {
      throw Failure(place.address +
                    " would answer clients without a certificate; use "
                    "--https-listen, a loopback address or --plain-http");
    }
    place.address = "127.0.0.1" + place.address;
  }
}

}  // namespace limitree::server
