// Options: where Envoy's descriptors come from.

#include <optional>

#include "config/options.hpp"
#include "io/address.hpp"
#include "io/failure.hpp"

namespace limitree::server {

namespace {

constexpr const char* kFiles = "Descriptors";
constexpr const char* kXds = "Descriptors by xDS";

constexpr const char* kRuntimeRoot = "/srv/runtime_data/current";

// Whether CONFIG_TYPE names a server of descriptors; none if it is missing.
std::optional<bool> names_server(EnvironmentReader* reader) {
  const auto type = reader->word("CONFIG_TYPE", "FILE GRPC_XDS_SOTW");
  if (!type) return std::nullopt;
  return type == 1u;
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

// Without a server its variables do not matter, not even their mistakes.
bool has_server(EnvironmentReader* reader) {
  return names_server(reader).value_or(false);
}

constexpr Condition kServer{"CONFIG_TYPE=GRPC_XDS_SOTW", has_server};
constexpr Condition kServerWithTls{
    "CONFIG_TYPE=GRPC_XDS_SOTW and CONFIG_GRPC_XDS_SERVER_USE_TLS",
    [](EnvironmentReader* reader) {
      return has_server(reader) &&
             reader->is_on("CONFIG_GRPC_XDS_SERVER_USE_TLS");
    }};

void read_server(EnvironmentReader* reader, ServeSettings* settings) {
  constexpr const char* kUrl = "CONFIG_GRPC_XDS_SERVER_URL";
  settings->xds.server = reader->text(kUrl).value_or("localhost:18000");
  try {
    parse_endpoint(settings->xds.server);
  } catch (const Failure& failure) {
    reader->fail(kUrl, failure.what());
  }
}

void read_jitter(EnvironmentReader* reader, ServeSettings* settings) {
  reader->set("XDS_CLIENT_BACKOFF_RANDOM_FACTOR", &settings->xds.random);
  if (!reader->is_on("XDS_CLIENT_BACKOFF_JITTER", true)) {
    settings->xds.random = 0;
  }
}

}  // namespace

std::string default_descriptors() {
  return std::string(kRuntimeRoot) + "/config";
}

std::vector<Option> descriptor_options(ServeSettings* s) {
  DescriptorSettings* const files = &s->descriptors;
  XdsSettings* const xds = &s->xds;
  return {
      // An option for one source takes the place of a variable for another.
      {kFiles, "-d,--descriptors", list_kind("PLACE"),
       "CONFIG_TYPE RUNTIME_ROOT RUNTIME_SUBDIRECTORY RUNTIME_APPDIRECTORY "
       "RUNTIME_WATCH_ROOT",
       "a file with limits of Envoy, or a folder of such",
       [s](const OptionValue& value) {
         s->descriptors.places = value.values;
         s->xds.server.clear();
       },
       read_folder},
      {kFiles, "--merge-domains", kSwitch, "MERGE_DOMAIN_CONFIG",
       "let several files have one domain", &files->merge_domains},
      {kFiles, "--dot-files", kSwitch, "RUNTIME_IGNOREDOTFILES",
       "read also files whose names begin with a dot", &files->dot_files,
       [](EnvironmentReader* reader, ServeSettings* settings) {
         bool* const on = &settings->descriptors.dot_files;
         *on = !reader->is_on("RUNTIME_IGNOREDOTFILES", !*on);
       }},
      {kFiles, "--start-without", kSwitch, "FORCE_START_WITHOUT_INITIAL_CONFIG",
       "start even without descriptors that are valid",
       &s->starts_without_descriptors},
      {kFiles, "--healthy-with", kSwitch,
       "HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED",
       "be healthy only with at least one domain", &s->health.needs_domain},

      {kXds, "--xds", text_kind("HOST:PORT"),
       "CONFIG_TYPE CONFIG_GRPC_XDS_SERVER_URL",
       "a server that descriptors come from",
       [s](const OptionValue& value) {
         s->xds.server = value.text();
         s->descriptors.places.clear();
       },
       read_server, &kServer},
      {kXds, "--xds-node", text_kind("NAME"), "CONFIG_GRPC_XDS_NODE_ID",
       "what it knows this service as", &xds->node_id, nullptr, &kServer},
      {kXds, "--xds-metadata", list_kind("NAME=VALUE"),
       "CONFIG_GRPC_XDS_NODE_METADATA", "metadata of the node",
       &xds->node_metadata, nullptr, &kServer},
      {kXds, "--xds-header", secret(list_kind("NAME:VALUE")),
       "CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS",
       "a field for the header of requests", &xds->headers, nullptr, &kServer,
       &xds->headers_file},
      {kXds, "--xds-tls", kSwitch, "CONFIG_GRPC_XDS_SERVER_USE_TLS",
       "connect with TLS", &xds->tls.on, nullptr, &kServer},
      {kXds, "--xds-ca", kFile, "CONFIG_GRPC_XDS_SERVER_TLS_CACERT",
       "who signs its certificate (those of the system)", &xds->tls.ca_file,
       nullptr, &kServerWithTls},
      {kXds, "--xds-cert", kFile, "CONFIG_GRPC_XDS_CLIENT_TLS_CERT",
       "a certificate for it", &xds->tls.cert_file, nullptr, &kServerWithTls},
      {kXds, "--xds-key", kFile, "CONFIG_GRPC_XDS_CLIENT_TLS_KEY", "its key",
       &xds->tls.key_file, nullptr, &kServerWithTls},
      {kXds, "--xds-name", text_kind("NAME"), "CONFIG_GRPC_XDS_SERVER_TLS_SAN",
       "the name in its certificate (the host)", &xds->tls.server_name, nullptr,
       &kServerWithTls},
      {kXds, "--xds-wait", kDuration,
       "CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL "
       "XDS_CLIENT_BACKOFF_INITIAL_INTERVAL",
       "the wait before it connects again", &xds->first_wait, nullptr,
       &kServer},
      {kXds, "--xds-max-wait", kDuration, "XDS_CLIENT_BACKOFF_MAX_INTERVAL",
       "the wait doubles up to this", &xds->last_wait, nullptr, &kServer},
      {kXds, "--xds-jitter", kShare,
       "XDS_CLIENT_BACKOFF_RANDOM_FACTOR XDS_CLIENT_BACKOFF_JITTER",
       "by which share a wait may differ", &xds->random, read_jitter, &kServer},
      {kXds, "--xds-max-message", number_kind(1 << 30),
       "XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES", "bytes of a configuration",
       &xds->max_message_bytes, nullptr, &kServer}};
}

}  // namespace limitree::server
