// All settings of `limitree serve`: from flags, a file or the environment.

#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "decisions/requests.hpp"
#include "io/look.hpp"
#include "io/timer.hpp"
#include "io/tls_client_context.hpp"
#include "io/tls_context.hpp"
#include "net/connection_settings.hpp"
#include "stats/settings.hpp"
#include "trace/settings.hpp"

namespace limitree::server {

using Pairs = std::vector<std::pair<std::string, std::string>>;

// Where the buckets are.
struct StoreSettings {
  std::string url;  // empty: in memory
  // Options of the library that belong to the URL.
  Pairs options;
};

// Files of descriptors, which are watched.
struct DescriptorSettings {
  // Files, and folders: each file in a folder.
  std::vector<std::string> places;
  bool dot_files = false;  // also those of a folder that begin with a dot
  bool merge_domains = false;
};

struct XdsTls : TlsClientSettings {
  bool on = false;
};

// A server of envoyproxy/ratelimit's configuration messages.
struct XdsSettings {
  std::string server;  // "host:port"; empty: none
  std::string node_id = "default";
  Pairs node_metadata;
  Pairs headers;
  std::string headers_file;  // more of them, "name:value,name:value"
  XdsTls tls;
  // The wait before the connection is made again.  It doubles from the first to
  // the last, and is then scaled by 1 - random to 1 + random.
  Duration first_wait = kOneSecond;
  Duration last_wait = 60 * kOneSecond;
  double random = 0.5;
  std::size_t max_message_bytes = 64 * 1024 * 1024;
};

// What an address is for.
enum class ListenFor {
  kGrpc,     // with TLS, if there is a certificate
  kHttp,     // /v1, /json and /healthcheck, without TLS
  kHttps,    // the same with TLS
  kAdmin,    // the pages for people, without TLS
  kMetrics,  // only the page for Prometheus, without TLS
};

struct ListenPlace {
  ListenFor purpose = ListenFor::kGrpc;
  std::string address;  // for ListenAddress::parse()
  bool is_default = false;
};

struct HealthSettings {
  // NOT_SERVING while no domain of descriptors is loaded.
  bool needs_domain = false;
  // NOT_SERVING while the store does not answer.
  bool needs_store = false;
};

enum class LogLevel { kError, kWarning, kInfo };

// Which messages are written, and how.
struct LogSettings {
  LogLevel level = LogLevel::kInfo;  // less important messages are not written
  bool json = false;                 // one object for each message
};

struct ServeSettings {
  std::string limits;  // the name of a limits.yaml; empty: none
  DescriptorSettings descriptors;
  XdsSettings xds;
  // Serves even if the descriptors have mistakes or have not come yet.
  bool starts_without_descriptors = false;
  std::vector<ListenPlace> places;
  // Names for HTTP on the loopback device, besides its own.
  std::vector<std::string> http_hosts;
  // Allows HTTP without TLS from other machines, although clients of the other
  // protocols need certificates.
  bool allows_plain_http = false;
  std::string admin_token_file;  // empty: nobody has a token
  // Another service may already listen on the same ports, except on an admin
  // port or a port for Prometheus.
  bool shares_ports = false;
  std::size_t workers = 1;
  bool shadow = false;  // the option shadow_mode of the library
  LowLatency low_latency = LowLatency::kOff;  // of each of them
  StoreSettings store;
  // Options of the library, in this order.
  Pairs options;
  TlsSettings tls;
  ConnectionSettings connection;
  std::size_t max_message_bytes = 4 * 1024 * 1024;  // also of a body of HTTP
  std::size_t max_connections = 20'000;  // except to pages of the process
  // The memory that clients make the service hold: for requests that are not
  // answered, for answers that are not read, and for calls.
  std::size_t max_buffered_bytes = 256 * 1024 * 1024;
  std::string header_style = "ietf";  // of answers of /v1
  // After SIGTERM: how long health says NOT_SERVING before connections are
  // drained, and how long open calls may then take.
  Duration drain_delay{};
  Duration drain_grace = 30 * kOneSecond;
  AnswerSettings answers;
  HealthSettings health;
  std::string metrics_path = "/metrics";  // of ListenFor::kMetrics
  StatsSettings stats;
  OtlpResource resource;
  TraceSettings trace;
  MetricSettings metrics;
  LogSettings log;
};

}  // namespace limitree::server
