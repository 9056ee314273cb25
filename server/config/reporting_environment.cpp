// Variables of logs, statistics and traces.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "config/environment.hpp"
#include "io/address.hpp"
#include "io/failure.hpp"

namespace limitree::server {

namespace {

void read_log(EnvironmentReader* reader, LogSettings* log) {
  const auto level = reader->word(
      "LOG_LEVEL",
      {"panic", "fatal", "error", "warn", "warning", "info", "debug", "trace"});
  if (level) {
    log->level = *level < 3   ? LogLevel::kError
                 : *level < 5 ? LogLevel::kWarning
                              : LogLevel::kInfo;
  }
  const auto format = reader->word("LOG_FORMAT", {"text", "json"});
  if (format) log->json = *format == 1;
}

// The names between commas.
std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    names.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return names;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return text;
}

// Each name in USE_DOG_STATSD_MOGRIFIERS has three variables, in upper case.
void read_mogrifiers(EnvironmentReader* reader, StatsSettings* stats) {
  const auto names = reader->text("USE_DOG_STATSD_MOGRIFIERS");
  if (!names) return;
  stats->mogrifiers.clear();
  for (const std::string& name : names_in(*names)) {
    MogrifierSettings one;
    one.name = upper(name);
    const std::string prefix = "DOG_STATSD_MOGRIFIER_" + one.name;
    reader->set((prefix + "_PATTERN").c_str(), &one.pattern);
    reader->set((prefix + "_NAME").c_str(), &one.new_name);
    reader->set((prefix + "_TAGS").c_str(), &one.tags);
    if (one.pattern.empty()) {
      reader->fail((prefix + "_PATTERN").c_str(),
                   "is needed, because USE_DOG_STATSD_MOGRIFIERS names it");
    }
    stats->mogrifiers.push_back(std::move(one));
  }
}

StatsFormat format_of(EnvironmentReader* reader) {
  const bool off = reader->flag("DISABLE_STATS").value_or(false);
  const bool dog = reader->flag("USE_DOG_STATSD").value_or(false);
  // There StatsD is on by default, for a server that few have.
  const bool named = reader->has("STATSD_HOST") || reader->has("STATSD_PORT");
  const bool plain = reader->flag("USE_STATSD").value_or(named);
  if (off) return StatsFormat::kNone;
  if (dog) return StatsFormat::kDogStatsd;
  return plain ? StatsFormat::kStatsd : StatsFormat::kNone;
}

void read_stats(EnvironmentReader* reader, StatsSettings* stats) {
  stats->format = format_of(reader);
  const auto protocol = reader->word("STATSD_PROTOCOL", {"tcp", "udp"});
  if (protocol == 1u) stats->protocol = StatsProtocol::kUdp;
  reader->set("STATSD_HOST", &stats->host);
  if (const auto port = reader->whole("STATSD_PORT", {1, 65535})) {
    stats->port = static_cast<std::uint16_t>(*port);
  }
  read_mogrifiers(reader, stats);
  if (reader->pairs("EXTRA_TAGS"))
    reader->set("EXTRA_TAGS", &stats->extra_tags);
  reader->set_duration("STATS_FLUSH_INTERVAL", &stats->flush_interval);
}

// An address that has only the page for Prometheus.
void read_prometheus(EnvironmentReader* reader, ServeSettings* settings) {
  if (!reader->flag("USE_PROMETHEUS").value_or(false)) return;
  std::string address = reader->text("PROMETHEUS_ADDR").value_or(":9090");
  try {
    ListenAddress::parse(address);
  } catch (const Failure&) {
    reader->refuse("PROMETHEUS_ADDR", "an address such as :9090");
    return;
  }
  listen_at(ListenFor::kMetrics, {std::move(address)}, settings);
  reader->set("PROMETHEUS_PATH", &settings->metrics_path);
  if (!settings->metrics_path.starts_with('/')) {
    reader->refuse("PROMETHEUS_PATH", "a path such as /metrics");
  }
}

// Of two variables, the one for traces alone counts.
void read_collector(EnvironmentReader* reader, TraceSettings* trace) {
  reader->set("OTEL_EXPORTER_OTLP_ENDPOINT", &trace->endpoint);
  reader->set("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &trace->traces_endpoint);
  reader->set("OTEL_EXPORTER_OTLP_HEADERS", &trace->headers);
  reader->set("OTEL_EXPORTER_OTLP_TRACES_HEADERS", &trace->headers);
  reader->set("OTEL_EXPORTER_OTLP_CERTIFICATE", &trace->ca_file);
  reader->set("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", &trace->ca_file);
  reader->set("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", &trace->cert_file);
  reader->set("OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE",
              &trace->cert_file);
  reader->set("OTEL_EXPORTER_OTLP_CLIENT_KEY", &trace->key_file);
  reader->set("OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY", &trace->key_file);
  for (const char* name :
       {"OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT"}) {
    if (const auto wait = reader->whole(name, {1, 3'600'000})) {
      trace->timeout = *wait * kMillisecond;
    }
  }
}

void read_trace(EnvironmentReader* reader, TraceSettings* trace) {
  reader->set("TRACING_ENABLED", &trace->enabled);
  reader->set("TRACING_SERVICE_NAME", &trace->service_name);
  reader->set("TRACING_SERVICE_NAMESPACE", &trace->service_namespace);
  reader->set("TRACING_SERVICE_INSTANCE_ID", &trace->service_instance_id);
  read_collector(reader, trace);
  const auto protocol =
      reader->word("TRACING_EXPORTER_PROTOCOL", {"http", "grpc"});
  if (trace->enabled && protocol == 1u) {
    reader->warn(
        "TRACING_EXPORTER_PROTOCOL: spans are sent by OTLP over HTTP only; "
        "none are sent");
    trace->enabled = false;
  }
  if (const auto rate = reader->fraction("TRACING_SAMPLING_RATE")) {
    trace->sampling_rate = *rate;
  }
}

}  // namespace

void read_reporting(EnvironmentReader* reader, ServeSettings* settings) {
  read_log(reader, &settings->log);
  read_stats(reader, &settings->stats);
  read_prometheus(reader, settings);
  read_trace(reader, &settings->trace);
}

}  // namespace limitree::server
