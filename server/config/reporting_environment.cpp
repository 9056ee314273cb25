// Options and variables of logs, statistics and traces.

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "config/environment.hpp"
#include "io/failure.hpp"

namespace limitree::server {

namespace {

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return text;
}

StatsFormat format_of(EnvironmentReader* reader) {
  const bool off = reader->is_on("DISABLE_STATS");
  const bool dog = reader->is_on("USE_DOG_STATSD");
  // There StatsD is on by default, for a server that few have.
  const bool named = reader->has("STATSD_HOST") || reader->has("STATSD_PORT");
  const bool plain = reader->is_on("USE_STATSD", named);
  if (off) return StatsFormat::kNone;
  if (dog) return StatsFormat::kDogStatsd;
  return plain ? StatsFormat::kStatsd : StatsFormat::kNone;
}

}  // namespace

void set_log_level(const Given& given, ServeSettings* settings) {
  const std::size_t level = find_word(
      given,
      {"panic", "fatal", "error", "warn", "warning", "info", "debug", "trace"});
  settings->log.level = level < 3   ? LogLevel::kError
                        : level < 5 ? LogLevel::kWarning
                                    : LogLevel::kInfo;
}

void set_log_format(const Given& given, ServeSettings* settings) {
  settings->log.json = find_word(given, {"text", "json"}) == 1;
}

// "tcp://HOST:PORT", with another scheme, or with an address in brackets.
void set_statsd(const Given& given, ServeSettings* settings) {
  const std::string& url = given.values[0];
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
    throw Failure(given.place + ": '" + url +
                  "' is not tcp://HOST:PORT, udp://HOST:PORT or "
                  "dogstatsd://HOST:PORT");
  }
  StatsSettings& stats = settings->stats;
  stats.format = is_dog ? StatsFormat::kDogStatsd : StatsFormat::kStatsd;
  stats.protocol = kind == "tcp" ? StatsProtocol::kTcp : StatsProtocol::kUdp;
  stats.host = url.substr(scheme + 3, colon - scheme - 3);
  if (stats.host.starts_with('[') && stats.host.ends_with(']')) {
    stats.host = stats.host.substr(1, stats.host.size() - 2);
  }
  stats.port = port;
}

void read_statsd(EnvironmentReader* reader, ServeSettings* settings) {
  StatsSettings& stats = settings->stats;
  stats.format = format_of(reader);
  const auto protocol = reader->word("STATSD_PROTOCOL", {"tcp", "udp"});
  if (protocol == 1u) stats.protocol = StatsProtocol::kUdp;
  reader->set("STATSD_HOST", &stats.host);
  std::size_t port = stats.port;
  reader->set("STATSD_PORT", &port, {.most = 65535});
  stats.port = static_cast<std::uint16_t>(port);
}

// "PATTERN NAME TAGS", the tags only if there are any.
void set_mogrifiers(const Given& given, ServeSettings* settings) {
  settings->stats.mogrifiers.clear();
  for (const std::string& rule : given.values) {
    std::vector<std::string> parts = split(rule, ' ');
    if (parts.size() < 2 || parts.size() > 3) {
      throw Failure(given.place + ": '" + rule +
                    "' is not \"PATTERN NAME TAGS\"");
    }
    parts.resize(3);
    settings->stats.mogrifiers.push_back(
        {given.place, parts[0], parts[1], parts[2]});
  }
}

// Each name in USE_DOG_STATSD_MOGRIFIERS has three variables, in upper case.
void read_mogrifiers(EnvironmentReader* reader, ServeSettings* settings) {
  const auto names = reader->text("USE_DOG_STATSD_MOGRIFIERS");
  if (!names) return;
  for (const std::string& name : split(*names, ',')) {
    MogrifierSettings one;
    one.name = upper(name);
    const std::string prefix = "DOG_STATSD_MOGRIFIER_" + one.name;
    reader->set(prefix + "_NAME", &one.new_name);
    reader->set(prefix + "_TAGS", &one.tags);
    if (!reader->set(prefix + "_PATTERN", &one.pattern)) {
      reader->fail(prefix + "_PATTERN",
                   "is needed, because USE_DOG_STATSD_MOGRIFIERS names it");
    }
    settings->stats.mogrifiers.push_back(std::move(one));
  }
}

void set_otlp(const Given& given, ServeSettings* settings) {
  settings->trace.enabled = true;
  settings->trace.endpoint = given.values[0];
  settings->trace.traces_endpoint.clear();
}

void read_otlp(EnvironmentReader* reader, ServeSettings* settings) {
  TraceSettings& trace = settings->trace;
  reader->set("TRACING_ENABLED", &trace.enabled);
  reader->set("OTEL_EXPORTER_OTLP_ENDPOINT", &trace.endpoint);
  reader->set("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &trace.traces_endpoint);
  const auto protocol =
      reader->word("TRACING_EXPORTER_PROTOCOL", {"http", "grpc"});
  if (trace.enabled && protocol == 1u) {
    reader->warn(
        "TRACING_EXPORTER_PROTOCOL: spans are sent by OTLP over HTTP only; "
        "none are sent");
    trace.enabled = false;
  }
}

}  // namespace limitree::server
