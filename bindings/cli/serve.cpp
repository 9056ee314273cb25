// `limitree serve`: the limits as a service.  The server does the work.

#include "serve.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "command.hpp"
#include "failure.hpp"
#include "limitree.hpp"
#include "terminal.hpp"

namespace limitree::cli {

namespace {

// Sets *to if the option was given.
template <typename From, typename To>
void set(const std::optional<From>& from, To* to) {
  if (from) *to = *from;
}

void set(const std::string& from, std::string* to) {
  if (!from.empty()) *to = from;
}

void set(bool from, bool* to) { *to = *to || from; }

server::Pairs split_pairs(const std::vector<std::string>& words, char mark,
                          const char* option) {
  server::Pairs pairs;
  for (const std::string& word : words) {
    const std::size_t at = word.find(mark);
    if (at == word.npos) {
      throw UsageError(std::string(option) + ": '" + word + "' is not NAME" +
                       mark + "VALUE");
    }
    pairs.emplace_back(word.substr(0, at), word.substr(at + 1));
  }
  return pairs;
}

// The library does not know where the value comes from.
void check_store(const std::string& url) {
  try {
    Config().set("store", url);
  } catch (const Error& error) {
    throw UsageError(std::string(kStoreVariable) + ": " + error.what());
  }
}

void set_store(const Remote& remote, server::ServeSettings* settings) {
  std::string url = remote.store;
  const char* const variable = std::getenv(kStoreVariable);
  if (url.empty() && variable != nullptr) {
    url = variable;
    check_store(url);
  }
  // The options of the environment belong to its own store.
  if (!url.empty()) settings->store = {url, {}};
  for (auto& option : split_pairs(remote.settings, '=', "--set")) {
    settings->options.push_back(std::move(option));
  }
}

void set_xds(const XdsOptions& options, server::XdsSettings* xds) {
  set(options.server, &xds->server);
  set(options.node_id, &xds->node_id);
  if (!options.node_metadata.empty()) {
    xds->node_metadata =
        split_pairs(options.node_metadata, '=', "--xds-metadata");
  }
  if (!options.headers.empty()) {
    xds->headers = split_pairs(options.headers, ':', "--xds-header");
  }
  set(options.tls, &xds->tls.on);
  set(options.ca, &xds->tls.ca_file);
  set(options.cert, &xds->tls.cert_file);
  set(options.key, &xds->tls.key_file);
  set(options.server_name, &xds->tls.server_name);
}

// Where limits and descriptors come from: an option for one source takes the
// place of a variable for another.
void set_sources(const ServeOptions& options, server::ServeSettings* settings) {
  settings->limits = options.limits;
  const DescriptorOptions& descriptors = options.descriptors;
  if (!descriptors.places.empty() && !options.xds.server.empty()) {
    throw UsageError("descriptors come from --descriptors or --xds, not both");
  }
  if (!descriptors.places.empty()) settings->xds.server.clear();
  if (!options.xds.server.empty()) settings->descriptors.places.clear();
  if (!descriptors.places.empty()) {
    settings->descriptors.places = descriptors.places;
  }
  set(descriptors.merge_domains, &settings->descriptors.merge_domains);
  set(descriptors.dot_files, &settings->descriptors.dot_files);
  set(descriptors.start_without, &settings->starts_without_descriptors);
  set(descriptors.healthy_with, &settings->health.needs_domain);
  set_xds(options.xds, &settings->xds);
  if (!settings->limits.empty() || !settings->descriptors.places.empty() ||
      !settings->xds.server.empty()) {
    return;
  }
  std::error_code error;
  const std::string folder = server::default_descriptors();
  if (!std::filesystem::is_directory(folder, error)) {
    throw UsageError(
        "serve needs a limits.yaml, --descriptors or --xds; see --help");
  }
  settings->descriptors.places = {folder};
}

using server::ListenFor;

// An option takes the place of variables for the same purpose, and of all
// default addresses.
void set_places(const AddressOptions& addresses,
                server::ServeSettings* settings) {
  const std::pair<ListenFor, const std::vector<std::string>*> given[] = {
      {ListenFor::kGrpc, &addresses.grpc},
      {ListenFor::kHttp, &addresses.http},
      {ListenFor::kHttps, &addresses.https},
      {ListenFor::kAdmin, &addresses.admin},
      {ListenFor::kMetrics, &addresses.metrics}};
  for (const auto& [purpose, places] : given) {
    if (places->empty()) continue;
    std::erase_if(settings->places, [](const server::ListenPlace& place) {
      return place.is_default;
    });
    listen_at(purpose, *places, settings);
  }
  settings->http_hosts = addresses.http_hosts;
  settings->allows_plain_http = addresses.plain_http;
  settings->shares_ports = addresses.share_ports;
}

void set_connection(const ServeOptions& options,
                    server::ServeSettings* settings) {
  set(options.tls_cert, &settings->tls.cert_file);
  set(options.tls_key, &settings->tls.key_file);
  set(options.tls_client_ca, &settings->tls.client_ca_file);
  if (!options.tls_client_names.empty()) {
    settings->tls.client_names = options.tls_client_names;
  }
  settings->admin_token_file = options.admin_token_file;
  set(options.max_message_bytes, &settings->max_message_bytes);
  set(options.max_connections, &settings->max_connections);
  set(options.max_buffered_bytes, &settings->max_buffered_bytes);
  server::ConnectionSettings& connection = settings->connection;
  set(options.max_streams, &connection.max_streams);
  set(options.keepalive_time_ns, &connection.keepalive_time);
  set(options.keepalive_timeout_ns, &connection.keepalive_timeout);
  set(options.max_idle_ns, &connection.max_idle);
  set(options.max_age_ns, &connection.max_age);
  set(options.max_age_grace_ns, &connection.max_age_grace);
  set(options.drain_delay_ns, &settings->drain_delay);
  set(options.drain_grace_ns, &settings->drain_grace);
}

void set_log(const ServeOptions& options, server::LogSettings* log) {
  if (options.log_level == "error") log->level = server::LogLevel::kError;
  if (options.log_level == "warning") log->level = server::LogLevel::kWarning;
  if (options.log_level == "info") log->level = server::LogLevel::kInfo;
  if (!options.log_format.empty()) log->json = options.log_format == "json";
}

// Reads the variables of envoyproxy/ratelimit.
void set_from_environment(server::ServeSettings* settings) {
  const server::EnvironmentReport report = server::read_environment(
      [](const char* name) { return std::getenv(name); }, settings);
  for (const std::string& warning : report.warnings) {
    complain("warning: " + warning);
  }
  if (report.errors.empty()) return;
  for (std::size_t i = 0; i + 1 < report.errors.size(); ++i) {
    complain(report.errors[i]);
  }
  throw UsageError(report.errors.back());
}

// Reads "tcp://HOST:PORT", with another scheme, or with an address in brackets.
void set_statsd(const std::string& url, server::StatsSettings* stats) {
  const std::size_t scheme = url.find("://");
  const std::size_t colon = url.rfind(':');
  const std::string kind = url.substr(0, scheme);
  const bool is_dog = kind == "dogstatsd";
  std::uint16_t port = 0;
  const char* const end = url.data() + url.size();
  const bool is_url =
      scheme != url.npos && colon > scheme + 3 &&
      (is_dog || kind == "tcp" || kind == "udp") &&
      std::from_chars(url.data() + colon + 1, end, port).ptr == end &&
      port != 0;
  if (!is_url) {
    throw UsageError("--statsd: '" + url +
                     "' is not tcp://HOST:PORT, udp://HOST:PORT or "
                     "dogstatsd://HOST:PORT");
  }
  stats->format =
      is_dog ? server::StatsFormat::kDogStatsd : server::StatsFormat::kStatsd;
  stats->protocol =
      kind == "tcp" ? server::StatsProtocol::kTcp : server::StatsProtocol::kUdp;
  stats->host = url.substr(scheme + 3, colon - scheme - 3);
  if (stats->host.starts_with('[') && stats->host.ends_with(']')) {
    stats->host = stats->host.substr(1, stats->host.size() - 2);
  }
  stats->port = port;
}

void set_reports(const ServeOptions& options, server::ServeSettings* settings) {
  if (!options.statsd.empty()) set_statsd(options.statsd, &settings->stats);
  set(options.stats_interval_ns, &settings->stats.flush_interval);
  set(options.stats_tags, &settings->stats.extra_tags);
  if (!options.otlp.empty()) {
    settings->trace.enabled = true;
    settings->trace.endpoint = options.otlp;
    settings->trace.traces_endpoint.clear();
  }
  set(options.sampling_rate, &settings->trace.sampling_rate);
}

server::ServeSettings settings_of(const ServeOptions& options) {
  server::ServeSettings settings;
  settings.places = server::default_places();
  settings.workers = std::max(1u, std::thread::hardware_concurrency());
  if (!options.ignore_environment) set_from_environment(&settings);
  set_sources(options, &settings);
  set_places(options.addresses, &settings);
  set(options.header_style, &settings.header_style);
  set(options.answer_headers, &settings.answers.headers);
  set(options.dynamic_metadata, &settings.answers.dynamic_metadata);
  set(options.workers, &settings.workers);
  set_store(options.remote, &settings);
  set(options.check_store, &settings.health.needs_store);
  set_connection(options, &settings);
  set_log(options, &settings.log);
  set_reports(options, &settings);
  server::keep_plain_http_local(&settings);
  return settings;
}

}  // namespace

int run(const ServeOptions& options) {
  server::serve(settings_of(options));
  return kExitOk;
}

}  // namespace limitree::cli
