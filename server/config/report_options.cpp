// Options: statistics, the log and the process.

#include <utility>

#include "config/options.hpp"
#include "io/address.hpp"
#include "io/failure.hpp"
#include "net/text.hpp"

namespace limitree::server {

namespace {

constexpr const char* kReports = "Statistics and traces";
constexpr const char* kProcess = "Process";

constexpr const char* kLowLatencies = "auto on off";  // as in LowLatency

// "tcp://HOST:PORT", with another scheme, or with an address in brackets.
void set_statsd(const OptionValue& value, StatsSettings* stats) {
  const std::string& url = value.text();
  const std::size_t scheme = url.find("://");
  const std::string kind = url.substr(0, scheme);
  const bool is_dog = kind == "dogstatsd";
  Endpoint server;  // port 0: it is not valid
  try {
    if (scheme != url.npos && (is_dog || kind == "tcp" || kind == "udp")) {
      server = parse_endpoint(url.substr(scheme + 3));
    }
  } catch (const Failure&) {
  }
  if (server.port == 0) {
    throw Failure(value.place + ": '" + url +
                  "' is not tcp://HOST:PORT, udp://HOST:PORT or "
                  "dogstatsd://HOST:PORT");
  }
  stats->format = is_dog ? StatsFormat::kDogStatsd : StatsFormat::kStatsd;
  stats->protocol = kind == "tcp" ? StatsProtocol::kTcp : StatsProtocol::kUdp;
  stats->host = server.host;
  stats->port = server.port;
}

void read_statsd(EnvironmentReader* reader, ServeSettings* settings) {
  StatsSettings* const stats = &settings->stats;
  const bool off = reader->is_on("DISABLE_STATS");
  const bool dog = reader->is_on("USE_DOG_STATSD");
  // envoyproxy/ratelimit turns StatsD on by default, but few have such a
  // server.
  const bool named = reader->has("STATSD_HOST") || reader->has("STATSD_PORT");
  const bool plain = reader->is_on("USE_STATSD", named);
  stats->format = off     ? StatsFormat::kNone
                  : dog   ? StatsFormat::kDogStatsd
                  : plain ? StatsFormat::kStatsd
                          : StatsFormat::kNone;
  const auto protocol = reader->word("STATSD_PROTOCOL", "tcp udp");
  if (protocol == 1u) stats->protocol = StatsProtocol::kUdp;
  reader->set("STATSD_HOST", &stats->host);
  std::size_t port = stats->port;
  reader->set("STATSD_PORT", &port, number_kind(65535));
  stats->port = static_cast<std::uint16_t>(port);
}

// "PATTERN NAME TAGS", where the tags are optional.
void set_mogrifiers(const OptionValue& value, StatsSettings* stats) {
  stats->mogrifiers.clear();
  for (const std::string& rule : value.values) {
    std::vector<std::string> parts = split(rule, ' ');
    if (parts.size() < 2 || parts.size() > 3) {
      throw Failure(value.place + ": '" + rule +
                    "' is not \"PATTERN NAME TAGS\"");
    }
    parts.resize(3);
    stats->mogrifiers.push_back({value.place, parts[0], parts[1], parts[2]});
  }
}

// Each name in USE_DOG_STATSD_MOGRIFIERS has three variables, in upper case.
void read_mogrifiers(EnvironmentReader* reader, ServeSettings* settings) {
  StatsSettings* const stats = &settings->stats;
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
    stats->mogrifiers.push_back(std::move(one));
  }
}

void read_tags(EnvironmentReader* reader, ServeSettings* settings) {
  StatsSettings* const stats = &settings->stats;
  Pairs tags;  // only to check the syntax
  if (!reader->set("EXTRA_TAGS", &tags)) return;
  reader->set("EXTRA_TAGS", &stats->extra_tags);
}

void set_log_level(const OptionValue& value, LogSettings* log) {
  const std::size_t level =
      find_word(value, "panic fatal error warn warning info debug trace");
  log->level = level < 3   ? LogLevel::kError
               : level < 5 ? LogLevel::kWarning
                           : LogLevel::kInfo;
}

constexpr ValueKind one_of(const char* value, const char* words) {
  return {value, false, 1, 0, words};
}

}  // namespace

std::vector<Option> report_options(ServeSettings* s) {
  StatsSettings* const stats = &s->stats;
  return {
      {kReports, "--statsd", text_kind("URL"),
       "USE_STATSD USE_DOG_STATSD DISABLE_STATS STATSD_HOST STATSD_PORT "
       "STATSD_PROTOCOL",
       "statistics: tcp://HOST:PORT, or udp, dogstatsd",
       [stats](const OptionValue& value) { set_statsd(value, stats); },
       read_statsd},
      {kReports, "--stats-interval", kDuration, "STATS_FLUSH_INTERVAL",
       "how often they are sent (10s)", more_than_zero(&stats->flush_interval)},
      {kReports, "--stats-tags", text_kind("TAGS"), "EXTRA_TAGS",
       "tags that they carry: NAME:VALUE,NAME:VALUE", &stats->extra_tags,
       read_tags},
      {kReports, "--mogrifier", list_kind("RULE"),
       "USE_DOG_STATSD_MOGRIFIERS DOG_STATSD_MOGRIFIER_<N>_PATTERN "
       "DOG_STATSD_MOGRIFIER_<N>_NAME DOG_STATSD_MOGRIFIER_<N>_TAGS",
       "another name for some: \"PATTERN NAME TAGS\"",
       [stats](const OptionValue& value) { set_mogrifiers(value, stats); },
       read_mogrifiers}};
}

std::vector<Option> process_options(ServeSettings* s) {
  return {{kProcess, "-w,--workers", number_kind(1024), "",
           "threads (as many as processors)", &s->workers},
          {kProcess, "--low-latency", one_of("WHEN", kLowLatencies), "",
           "poll before they sleep: off, auto or on (off)",
           [s](const OptionValue& value) {
             s->low_latency =
                 static_cast<LowLatency>(find_word(value, kLowLatencies));
           }},
          {kProcess, "--drain-delay", kDuration, "",
           "after SIGTERM: time of NOT_SERVING", &s->drain_delay},
          {kProcess, "--drain-grace", kDuration, "",
           "after that: time for open calls", &s->drain_grace},
          {kProcess, "--log-level", one_of("LEVEL", "error warning info"),
           "LOG_LEVEL", "error, warning or info (info)",
           [s](const OptionValue& value) { set_log_level(value, &s->log); }},
          {kProcess, "--log-format", one_of("FORMAT", "text json"),
           "LOG_FORMAT", "text or json (text)", [s](const OptionValue& value) {
             s->log.json = find_word(value, "text json") == 1;
           }}};
}

}  // namespace limitree::server
