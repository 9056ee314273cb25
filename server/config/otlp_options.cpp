// Options: what a collector of OpenTelemetry gets.

#include <algorithm>
#include <array>

#include "config/options.hpp"
#include "io/failure.hpp"
#include "net/text.hpp"

namespace limitree::server {

namespace {

constexpr const char* kCollector = "Statistics and traces";

std::array<OtlpSettings*, 2> signals_of(ServeSettings* settings) {
  return {&settings->trace, &settings->metrics};
}

// OTEL_EXPORTER_OTLP_<end> is for each signal; OTEL_EXPORTER_OTLP_TRACES_<end>,
// for one, counts before it.
std::string variable_for(const OtlpSettings& one, const std::string& end) {
  return "OTEL_EXPORTER_OTLP_" + upper(one.signal) + '_' + end;
}

std::string variables_for(const std::string& end) {
  return "OTEL_EXPORTER_OTLP_" + end + ' ' +
         variable_for(TraceSettings(), end) + ' ' +
         variable_for(MetricSettings(), end);
}

void set_field(const OptionValue& value, std::string* text) {
  *text = value.text();
}

// In the variables of OpenTelemetry, times are milliseconds.
void set_field(const OptionValue& value, Duration* time) {
  if (!value.is_original) return set_target(value, kDuration, time);
  std::size_t count = 0;
  set_target(value, number_kind(3'600'000), &count);
  *time = static_cast<std::int64_t>(count) * kMillisecond;
}

// A field in the settings of each signal, unless the variable is for one.
template <auto kMember>
Target for_signals(ServeSettings* settings) {
  return [signals = signals_of(settings)](const OptionValue& value) {
    for (std::size_t i = 0; i < signals.size(); ++i) {
      const std::string others = variable_for(*signals[1 - i], "");
      if (value.is_original && value.place.starts_with(others)) continue;
      set_field(value, &(signals[i]->*kMember));
    }
  };
}

void read_headers_files(EnvironmentReader* reader, ServeSettings* settings) {
  for (OtlpSettings* const one : signals_of(settings)) {
    for (const std::string& name : {std::string("OTEL_EXPORTER_OTLP_HEADERS"),
                                    variable_for(*one, "HEADERS")}) {
      if (auto file = reader->file_of(name)) one->headers_file = *file;
    }
  }
}

void read_interval(EnvironmentReader* reader, ServeSettings* settings) {
  reader->set("OTEL_METRIC_EXPORT_INTERVAL",
              [settings](const OptionValue& value) {
                set_field(value, &settings->metrics.interval);
              });
}

void set_endpoint(const OptionValue& value, OtlpSettings* one) {
  const std::string& url = value.text();
  if (!url.starts_with("http://") && !url.starts_with("https://")) {
    throw Failure(value.place + " must begin with http:// or https://, is " +
                  shown_url(url));
  }
  one->enabled = true;
  one->endpoint = url;
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
  reader->set("OTEL_EXPORTER_OTLP_PROTOCOL", &protocol);
  reader->set("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", &protocol);
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
       "OTEL_METRIC_EXPORT_INTERVAL", "how often that is sent (1m)",
       more_than_zero(&metrics->interval), read_interval},
      {kCollector, "--otlp-headers", secret(text_kind("FIELDS")),
       variables_for("HEADERS"), "fields for both: NAME=VALUE,NAME=VALUE",
       for_signals<&OtlpSettings::headers>(s)},
      // Not by file_option(): for two signals, as all these.
      {kCollector, "--otlp-headers-file", kFile, variables_for("HEADERS_FILE"),
       "the same in a file, which is read each time",
       for_signals<&OtlpSettings::headers_file>(s), read_headers_files},
      {kCollector, "--otlp-timeout", kDuration, variables_for("TIMEOUT"),
       "time for sending once (10s)", for_signals<&OtlpSettings::timeout>(s)},
      {kCollector, "--otlp-ca", kFile, variables_for("CERTIFICATE"),
       "who signs the certificate (those of the system)",
       for_signals<&OtlpSettings::ca_file>(s)},
      {kCollector, "--otlp-cert", kFile, variables_for("CLIENT_CERTIFICATE"),
       "a certificate for the collector",
       for_signals<&OtlpSettings::cert_file>(s)},
      {kCollector, "--otlp-key", kFile, variables_for("CLIENT_KEY"), "its key",
       for_signals<&OtlpSettings::key_file>(s)},
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
