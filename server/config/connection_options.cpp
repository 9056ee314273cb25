// Options: TLS, and what a connection of a client may cost.

#include "config/options.hpp"

namespace limitree::server {

namespace {

bool uses_tls(EnvironmentReader* reader) {
  return reader->is_on("GRPC_SERVER_USE_TLS");
}

}  // namespace

std::vector<Option> connection_options(ServeSettings* s) {
  constexpr const char* kTls = "TLS";
  constexpr const char* kConnections = "Connections";
  ConnectionSettings* const one = &s->connection;
  return {
      {kTls, "--tls-cert", kFile, "GRPC_SERVER_TLS_CERT",
       "certificate chain; turns TLS on", &s->tls.cert_file, nullptr, uses_tls},
      {kTls, "--tls-key", kFile, "GRPC_SERVER_TLS_KEY", "its key",
       &s->tls.key_file, nullptr, uses_tls},
      {kTls, "--tls-client-ca", kFile, "GRPC_CLIENT_TLS_CACERT",
       "who signs the certificates of clients", &s->tls.client_ca_file, nullptr,
       uses_tls},
      {kTls, "--tls-client-name", list_kind("NAME"), "GRPC_CLIENT_TLS_SAN",
       "a name that these must have", &s->tls.client_names, nullptr, uses_tls},
      {kTls, "--admin-token-file", kFile, "",
       "token of who may reset, refund and spend", &s->admin_token_file},

      {kConnections, "--max-streams", number_kind(1'000'000), "",
       "calls of one connection at a time", &one->max_streams},
      {kConnections, "--max-message", number_kind(1 << 30), "",
       "bytes of a request", &s->max_message_bytes},
      {kConnections, "--max-connections", number_kind(10'000'000), "",
       "connections at a time", &s->max_connections},
      {kConnections, "--max-buffered", number_kind(INT32_MAX), "",
       "bytes that clients may make it hold", &s->max_buffered_bytes},
      {kConnections, "--keepalive-time", kDuration, "",
       "silence after which clients are pinged", &one->keepalive_time},
      {kConnections, "--keepalive-timeout", kDuration, "",
       "time for their answer", &one->keepalive_timeout},
      {kConnections, "--max-connection-idle", kDuration, "",
       "time that a connection has no call", &one->max_idle},
      {kConnections, "--max-connection-age", kDuration,
       "GRPC_MAX_CONNECTION_AGE", "how long a connection lasts", &one->max_age,
       [](EnvironmentReader* reader, ServeSettings* settings) {
         // In envoyproxy/ratelimit, 0 means no limit.
         Duration* const age = &settings->connection.max_age;
         reader->set("GRPC_MAX_CONNECTION_AGE", age, kDuration);
         if (*age == Duration::zero()) *age = kNever;
       }},
      {kConnections, "--max-connection-grace", kDuration,
       "GRPC_MAX_CONNECTION_AGE_GRACE", "and then its open calls",
       &one->max_age_grace}};
}

}  // namespace limitree::server
