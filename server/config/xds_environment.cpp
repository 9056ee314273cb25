// CONFIG_GRPC_XDS_... and XDS_CLIENT_...: a server of configurations.

#include "config/environment.hpp"
#include "io/address.hpp"
#include "io/failure.hpp"

namespace limitree::server {

namespace {

void read_tls(EnvironmentReader* reader, TlsClientSettings* tls) {
  reader->set("CONFIG_GRPC_XDS_SERVER_USE_TLS", &tls->on);
  if (!tls->on) return;
  reader->set("CONFIG_GRPC_XDS_SERVER_TLS_CACERT", &tls->ca_file);
  reader->set("CONFIG_GRPC_XDS_CLIENT_TLS_CERT", &tls->cert_file);
  reader->set("CONFIG_GRPC_XDS_CLIENT_TLS_KEY", &tls->key_file);
  reader->set("CONFIG_GRPC_XDS_SERVER_TLS_SAN", &tls->server_name);
}

void read_waits(EnvironmentReader* reader, XdsSettings* xds) {
  reader->set_duration("CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL",
                       &xds->first_wait);
  reader->set_duration("XDS_CLIENT_BACKOFF_INITIAL_INTERVAL", &xds->first_wait);
  reader->set_duration("XDS_CLIENT_BACKOFF_MAX_INTERVAL", &xds->last_wait);
  if (const auto factor =
          reader->fraction("XDS_CLIENT_BACKOFF_RANDOM_FACTOR")) {
    xds->random = *factor;
  }
  if (!reader->flag("XDS_CLIENT_BACKOFF_JITTER").value_or(true)) {
    xds->random = 0;
  }
}

}  // namespace

void read_xds(EnvironmentReader* reader, ServeSettings* settings) {
  XdsSettings& xds = settings->xds;
  xds.server =
      reader->text("CONFIG_GRPC_XDS_SERVER_URL").value_or("localhost:18000");
  try {
    split_place(xds.server);
  } catch (const Failure& failure) {
    reader->fail("CONFIG_GRPC_XDS_SERVER_URL", failure.what());
  }
  reader->set("CONFIG_GRPC_XDS_NODE_ID", &xds.node_id);
  if (auto data = reader->pairs("CONFIG_GRPC_XDS_NODE_METADATA", "=:")) {
    xds.node_metadata = std::move(*data);
  }
  if (auto headers =
          reader->pairs("CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS")) {
    xds.headers = std::move(*headers);
  }
  read_tls(reader, &xds.tls);
  read_waits(reader, &xds);
  if (const auto size = reader->whole("XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES",
                                      {1, INT64_C(1) << 30})) {
    xds.max_message_bytes = static_cast<std::size_t>(*size);
  }
}

}  // namespace limitree::server
