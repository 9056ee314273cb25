// `limitree serve`: the limits as a service.  The server does the work.

#include "serve.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "command.hpp"
#include "failure.hpp"

namespace limitree::cli {

namespace {

void set(const std::optional<std::int64_t>& from, server::Nanoseconds* to) {
  if (from) *to = *from;
}

void set_options(const Remote& remote, server::ServeSettings* settings) {
  std::string store = remote.store;
  const char* const variable = std::getenv(kStoreVariable);
  if (store.empty() && variable != nullptr) store = variable;
  if (!store.empty()) settings->options.emplace_back("store", store);
  for (const std::string& setting : remote.settings) {
    const std::size_t equals = setting.find('=');
    if (equals == setting.npos) {
      throw UsageError("--set: '" + setting + "' is not NAME=VALUE");
    }
    settings->options.emplace_back(setting.substr(0, equals),
                                   setting.substr(equals + 1));
  }
}

using server::ListenFor;

void add_places(ListenFor purpose, const std::vector<std::string>& addresses,
                std::vector<server::ListenPlace>* places) {
  for (const std::string& address : addresses) {
    places->push_back({purpose, address});
  }
}

std::vector<server::ListenPlace> places_of(const ServeOptions& options) {
  std::vector<server::ListenPlace> places;
  add_places(ListenFor::kGrpc, options.addresses, &places);
  add_places(ListenFor::kHttp, options.http_addresses, &places);
  add_places(ListenFor::kHttps, options.https_addresses, &places);
  add_places(ListenFor::kAdmin, options.admin_addresses, &places);
  if (!places.empty()) return places;
  return {{ListenFor::kGrpc, ":8081"},
          {ListenFor::kHttp, ":8080"},
          {ListenFor::kAdmin, "127.0.0.1:6070"}};
}

server::ServeSettings settings_of(const ServeOptions& options) {
  server::ServeSettings settings;
  settings.limits = options.limits;
  settings.places = places_of(options);
  settings.header_style = options.header_style;
  settings.workers = options.workers != 0
                         ? options.workers
                         : std::max(1u, std::thread::hardware_concurrency());
  set_options(options.remote, &settings);
  settings.descriptors = options.descriptors;
  settings.answers.headers = options.answer_headers;
  settings.answers.dynamic_metadata = options.dynamic_metadata;
  settings.tls = {options.tls_cert, options.tls_key, options.tls_client_ca,
                  options.tls_client_names};
  settings.max_message_bytes = options.max_message_bytes;
  server::ConnectionSettings& connection = settings.connection;
  connection.max_streams = options.max_streams;
  set(options.keepalive_time_ns, &connection.keepalive_time);
  set(options.keepalive_timeout_ns, &connection.keepalive_timeout);
  set(options.max_idle_ns, &connection.max_idle);
  set(options.max_age_ns, &connection.max_age);
  set(options.max_age_grace_ns, &connection.max_age_grace);
  set(options.drain_delay_ns, &settings.drain_delay);
  set(options.drain_grace_ns, &settings.drain_grace);
  return settings;
}

}  // namespace

int run(const ServeOptions& options) {
  server::serve(settings_of(options));
  return kExitOk;
}

}  // namespace limitree::cli
