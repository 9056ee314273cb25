// What is sent to a collector of OpenTelemetry, and where it is.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "io/timer.hpp"

namespace limitree::server {

// Who sends it.
struct OtlpResource {
  std::string service_name = "RateLimit";
  std::string service_namespace;    // not sent if empty
  std::string service_instance_id;  // random if empty
  std::string attributes;  // name=value,name=value; values are URL-encoded
};

// Where one signal of OpenTelemetry goes, if it is sent.
struct OtlpSettings {
  std::string signal;  // "traces", as URLs have it
  bool enabled = false;
  std::string endpoint = "http://localhost:4318";  // /v1/traces is added
  std::string own_endpoint;                        // as it is, if not empty
  std::string headers;       // as OtlpResource::attributes
  std::string headers_file;  // more of them
  Duration timeout = 10 * kOneSecond;
  std::string ca_file;    // the CAs of its certificate; empty: the system's
  std::string cert_file;  // for a collector that asks for one
  std::string key_file;
};

struct TraceSettings : OtlpSettings {
  TraceSettings() { signal = "traces"; }

  // The share of recorded traces, from 0 to 1, among those that begin here.  A
  // request that belongs to a trace already is recorded if its sender records
  // it.
  double sampling_rate = 1;
};

struct MetricSettings : OtlpSettings {
  MetricSettings() { signal = "metrics"; }

  Duration interval = 60 * kOneSecond;
};

// Throws Failure, whose message names the variable, if a value is wrong.
void check_otlp(const OtlpSettings& settings);

// The URL for the signal.
std::string signal_url(const OtlpSettings& settings);

// `url` for messages: without user, password and query.
std::string shown_url(const std::string& url);

using OtlpPairs = std::vector<std::pair<std::string, std::string>>;

// The fields of a header or the attributes of a resource in `list`,
// decoded.  Throws Failure, whose message begins with `variable`.
OtlpPairs otlp_pairs(const std::string& variable, const std::string& list);
// Those of the file are as it is now.
OtlpPairs header_fields(const OtlpSettings& settings);

}  // namespace limitree::server
