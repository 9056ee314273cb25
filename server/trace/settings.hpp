// Which requests are traced, and where the spans go.

#ifndef LIMITREE_SERVER_TRACE_SETTINGS_HPP
#define LIMITREE_SERVER_TRACE_SETTINGS_HPP

#include <string>
#include <utility>
#include <vector>

#include "io/timer.hpp"

namespace limitree::server {

struct TraceSettings {
  bool enabled = false;
  std::string service_name = "RateLimit";
  std::string service_namespace;    // not sent if empty
  std::string service_instance_id;  // random if empty
  // The share of recorded traces, from 0 to 1, among those that begin here.  A
  // request that belongs to a trace already is recorded if its sender records
  // it.
  double sampling_rate = 1;
  std::string endpoint = "http://localhost:4318";  // /v1/traces is added
  std::string traces_endpoint;                     // as it is, if not empty
  std::string headers;       // name=value,name=value; values are URL-encoded
  std::string headers_file;  // more of them
  Duration timeout = 10 * kOneSecond;
  std::string ca_file;    // the CAs of its certificate; empty: the system's
  std::string cert_file;  // for a collector that asks for one
  std::string key_file;
};

// Throws Failure, whose message names the variable, if a value is wrong.
void check_trace(const TraceSettings& settings);

// The URL for spans.
std::string traces_url(const TraceSettings& settings);

// `url` for messages: without user, password and query.
std::string shown_url(const std::string& url);

// The fields of `headers` and of the file as it is now, decoded.  Throws
// Failure.
std::vector<std::pair<std::string, std::string>> header_fields(
    const TraceSettings& settings);

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_TRACE_SETTINGS_HPP
