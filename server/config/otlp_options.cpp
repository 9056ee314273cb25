// Options: what a collector of OpenTelemetry gets.

#include <algorithm>
#include <array>

#include "config/options.hpp"
#include "net/text.hpp"

namespace limitree::server {

namespace {

constexpr const char* kCollector = "Statistics and traces";

std::array<OtlpSettings*, 2> signals_of(ServeSettings* settings) {
  return {&settings->trace, &settings->metrics};
}

// A target in the settings of each signal.
template <auto kMember>
Target for_signals(ServeSettings* settings, const ValueKind& kind = {}) {
  return [settings, kind](const OptionValue& value) {
    for (OtlpSettings* const one : signals_of(settings)) {
      set_target(value, kind, &(one->*kMember));
    }
  };
}

// OTEL_EXPORTER_OTLP_<end> is for each signal; OTEL_EXPORTER_OTLP_TRACES_<end>,
// for one, counts before it.
std::array<std::string, 2> variables_of(const OtlpSettings& one,
                                        const std::string& end) {
  const std::string begin = "OTEL_EXPORTER_OTLP_";
  return {begin + end, begin + upper(one.signal) + '_' + end};
}

template <auto kMember>
void read_signals(const char* end, EnvironmentReader* reader,
                  ServeSettings* settings) {
  for (OtlpSettings* const one : signals_of(settings)) {
    for (const std::string& name : variables_of(*one, end)) {
      reader->set(name, &(one->*kMember));
    }
  }
}

// Milliseconds.
void read_milliseconds(const std::string& name, EnvironmentReader* reader,
                       Duration* time) {
  std::size_t count = 0;
  if (reader->set(name, &count, number_kind(3'600'000))) {
    *time = static_cast<std::int64_t>(count) * kMillisecond;
  }
}

void read_timeouts(EnvironmentReader* reader, ServeSettings* settings) {
  for (OtlpSettings* const one : signals_of(settings)) {
    for (const std::string& name : variables_of(*one, "TIMEOUT")) {
      read_milliseconds(name, reader, &one->timeout);
    }
  }
}

void set_endpoint(const OptionValue& value, OtlpSettings* one) {
  one->enabled = true;
  one->endpoint = value.text();
  one->own_endpoint.clear();
}

void read_traces(EnvironmentReader* reader, ServeSettings* settings) {
  TraceSettings* const trace = &settings->trace;
  reader->set("TRACING_ENABLED", &trace->enabled);
  reader->set("OTEL_EXPORTER_OTLP_ENDPOINT", &trace->endpoint);
  reader->set("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &trace->own_endpoint);
  const auto protocol = reader->word("TRACING_EXPORTER_PROTOCOL", "http grpc");
  if (trace->enabled && protocol == 1u) {
    reader->warn(
        "TRACING_EXPORTER_PROTOCOL: spans are sent by OTLP over HTTP only; "
        "none are sent");
    trace->enabled = false;
  }
}

// envoyproxy/ratelimit has no such metrics, so its users, whose collectors may
// take spans alone, have to ask for them.
void read_metrics(EnvironmentReader* reader, ServeSettings* settings) {
  MetricSettings* const metrics = &settings->metrics;
  reader->set("OTEL_EXPORTER_OTLP_ENDPOINT", &metrics->endpoint);
  metrics->enabled |= reader->set("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
                                  &metrics->own_endpoint);
  if (const auto exporters = reader->text("OTEL_METRICS_EXPORTER")) {
    const std::vector<std::string> all = split(*exporters, ',');
    metrics->enabled = std::ranges::find(all, "otlp") != all.end();
  }
  if (!metrics->enabled) return;
  constexpr const char* kTemporality =
      "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE";
  if (lower(reader->text(kTemporality).value_or("cumulative")) !=
      "cumulative") {
    reader->warn(std::string(kTemporality) + ": sums are always cumulative");
  }
  std::string protocol = "http/protobuf";
  for (const std::string& name : variables_of(*metrics, "PROTOCOL")) {
    reader->set(name, &protocol);
  }
  if (protocol == "http/protobuf") return;
  reader->warn(
      "OTEL_EXPORTER_OTLP_PROTOCOL: metrics are sent by http/protobuf only; "
      "none are sent");
  metrics->enabled = false;
}

}  // namespace

std::vector<Option> otlp_options(ServeSettings* s) {
  TraceSettings* const trace = &s->trace;
  MetricSettings* const metrics = &s->metrics;
  return {
      {kCollector, "--otlp", text_kind("URL"),
       "TRACING_ENABLED TRACING_EXPORTER_PROTOCOL OTEL_EXPORTER_OTLP_ENDPOINT "
       "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
       "spans, by OTLP: http://HOST:4318",
       [trace](const OptionValue& value) { set_endpoint(value, trace); },
       read_traces},
      {kCollector, "--otlp-metrics", text_kind("URL"),
       "OTEL_METRICS_EXPORTER OTEL_EXPORTER_OTLP_METRICS_ENDPOINT "
       "OTEL_EXPORTER_OTLP_PROTOCOL OTEL_EXPORTER_OTLP_METRICS_PROTOCOL "
       "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE",
       "what /metrics has, by OTLP: http://HOST:4318",
       [metrics](const OptionValue& value) { set_endpoint(value, metrics); },
       read_metrics},
      {kCollector, "--otlp-metrics-interval", kDuration,
       "OTEL_METRIC_EXPORT_INTERVAL", "how often that is sent",
       &metrics->interval,
       [](EnvironmentReader* reader, ServeSettings* settings) {
         read_milliseconds("OTEL_METRIC_EXPORT_INTERVAL", reader,
                           &settings->metrics.interval);
       }},
      {kCollector, "--otlp-headers", secret(text_kind("FIELDS")),
       "OTEL_EXPORTER_OTLP_HEADERS OTEL_EXPORTER_OTLP_TRACES_HEADERS "
       "OTEL_EXPORTER_OTLP_METRICS_HEADERS",
       "fields for both: NAME=VALUE,NAME=VALUE",
       for_signals<&OtlpSettings::headers>(s, secret(text_kind("FIELDS"))),
       [](EnvironmentReader* reader, ServeSettings* settings) {
         read_signals<&OtlpSettings::headers>("HEADERS", reader, settings);
       }},
      // Not by file_option(): for two signals, as all these.
      {kCollector, "--otlp-headers-file", kFile,
       "OTEL_EXPORTER_OTLP_HEADERS_FILE OTEL_EXPORTER_OTLP_TRACES_HEADERS_FILE "
       "OTEL_EXPORTER_OTLP_METRICS_HEADERS_FILE",
       "the same in a file, which is read each time",
       for_signals<&OtlpSettings::headers_file>(s),
       [](EnvironmentReader* reader, ServeSettings* settings) {
         for (OtlpSettings* const one : signals_of(settings)) {
           for (const std::string& name : variables_of(*one, "HEADERS")) {
             if (auto file = reader->file_of(name)) one->headers_file = *file;
           }
         }
       }},
      {kCollector, "--otlp-timeout", kDuration,
       "OTEL_EXPORTER_OTLP_TIMEOUT OTEL_EXPORTER_OTLP_TRACES_TIMEOUT "
       "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT",
       "time for sending once (10s)",
       for_signals<&OtlpSettings::timeout>(s, kDuration), read_timeouts},
      {kCollector, "--otlp-ca", kFile,
       "OTEL_EXPORTER_OTLP_CERTIFICATE OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE "
       "OTEL_EXPORTER_OTLP_METRICS_CERTIFICATE",
       "who signs the certificate (those of the system)",
       for_signals<&OtlpSettings::ca_file>(s),
       [](EnvironmentReader* reader, ServeSettings* settings) {
         read_signals<&OtlpSettings::ca_file>("CERTIFICATE", reader, settings);
       }},
      {kCollector, "--otlp-cert", kFile,
       "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE "
       "OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE "
       "OTEL_EXPORTER_OTLP_METRICS_CLIENT_CERTIFICATE",
       "a certificate for the collector",
       for_signals<&OtlpSettings::cert_file>(s),
       [](EnvironmentReader* reader, ServeSettings* settings) {
         read_signals<&OtlpSettings::cert_file>("CLIENT_CERTIFICATE", reader,
                                                settings);
       }},
      {kCollector, "--otlp-key", kFile,
       "OTEL_EXPORTER_OTLP_CLIENT_KEY OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY "
       "OTEL_EXPORTER_OTLP_METRICS_CLIENT_KEY",
       "its key", for_signals<&OtlpSettings::key_file>(s),
       [](EnvironmentReader* reader, ServeSettings* settings) {
         read_signals<&OtlpSettings::key_file>("CLIENT_KEY", reader, settings);
       }},
      {kCollector, "--otlp-attributes", text_kind("FIELDS"),
       "OTEL_RESOURCE_ATTRIBUTES", "what else they say of this process",
       &s->resource.attributes},
      {kCollector, "--sampling-rate", kShare, "TRACING_SAMPLING_RATE",
       "share of requests that have a span", &trace->sampling_rate},
      {kCollector, "--trace-service", text_kind("NAME"),
       "OTEL_SERVICE_NAME TRACING_SERVICE_NAME", "what both call the service",
       &s->resource.service_name},
      {kCollector, "--trace-namespace", text_kind("NAME"),
       "TRACING_SERVICE_NAMESPACE", "and its namespace",
       &s->resource.service_namespace},
      {kCollector, "--trace-instance", text_kind("NAME"),
       "TRACING_SERVICE_INSTANCE_ID", "and this process (random)",
       &s->resource.service_instance_id}};
}

}  // namespace limitree::server
