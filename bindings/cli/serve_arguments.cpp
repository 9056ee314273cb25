#include "serve_arguments.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <utility>

#include "duration_option.hpp"
#include "failure.hpp"

namespace limitree::cli {

namespace {

constexpr const char* kServeFooter =
    "Answers gRPC: Envoy's rate limit service, limitree.v1.Limiter,\n"
    "grpc.health.v1.Health and reflection; HTTP: POST /v1/authorize and its\n"
    "sisters, /json as Envoy's service, GET /healthcheck.  The admin port has\n"
    "/limits, /rlconfig, /stats and /metrics.  Without an address it listens "
    "for gRPC\non :8081, for HTTP on :8080, for the admin on 127.0.0.1:6070.\n"
    "SIGHUP reads limits and descriptors again; descriptors and certificates "
    "are read\nagain when their files change.  SIGTERM drains: health says "
    "NOT_SERVING, open\ncalls are answered.\n\n"
    "A settings file has a line for each option: workers = 4, "
    "listen = [\":8081\"].\nAn option of the command line counts, then the "
    "settings file, then the\nenvironment: the variables of "
    "envoyproxy/ratelimit, such as GRPC_PORT and\nRUNTIME_ROOT.  Without "
    "--store, LIMITREE_STORE and REDIS_URL, buckets are in\nmemory.\n\n"
    "Examples:\n"
    "  limitree serve examples/limits.yaml --listen 127.0.0.1:8081\n"
    "  limitree serve --descriptors examples/descriptors";

void add_text(CLI::App* serve, const char* name, std::string* text,
              const char* help) {
  serve->add_option(name, *text, help)->type_name("TEXT");
}

void add_file(CLI::App* serve, const char* name, std::string* file,
              const char* help) {
  serve->add_option(name, *file, help)->type_name("FILE");
}

void add_words(CLI::App* serve, const std::string& name,
               std::vector<std::string>* words, const std::string& help) {
  serve->add_option(name, *words, help)->allow_extra_args(false);
}

template <typename Number>
void add_number(CLI::App* serve, const char* name, Number* number, int most,
                const char* help) {
  serve->add_option(name, *number, help)
      ->check(CLI::Range(1, most))
      ->type_name("N");
}

void add_descriptors(CLI::App* serve, DescriptorOptions* options) {
  add_words(serve, "-d,--descriptors", &options->places,
            "files of Envoy's service, or a folder; repeatable");
  serve->add_flag("--merge-domains", options->merge_domains,
                  "several files may have one domain");
  serve->add_flag("--dot-files", options->dot_files,
                  "also files of a folder that begin with a dot");
  serve->add_flag("--start-without", options->start_without,
                  "serve even if the descriptors have mistakes");
  serve->add_flag("--healthy-with", options->healthy_with,
                  "healthy only with at least one domain");
}

void add_xds(CLI::App* serve, XdsOptions* options) {
  add_text(serve, "--xds", &options->server,
           "HOST:PORT of a server of descriptors");
  add_text(serve, "--xds-node", &options->node_id,
           "the name of this service there (default)");
  add_words(serve, "--xds-metadata", &options->node_metadata,
            "NAME=VALUE of the node; repeatable");
  add_words(serve, "--xds-header", &options->headers,
            "NAME:VALUE for each request; repeatable");
  serve->add_flag("--xds-tls", options->tls, "connect with TLS");
  add_file(serve, "--xds-ca", &options->ca,
           "who signs its certificate (those of the system)");
  add_file(serve, "--xds-cert", &options->cert, "a certificate for it");
  add_file(serve, "--xds-key", &options->key, "its key");
  add_text(serve, "--xds-name", &options->server_name,
           "the name in its certificate (the host)");
}

void add_addresses(CLI::App* serve, AddressOptions* addresses) {
  add_words(serve, "-l,--listen", &addresses->grpc,
            "gRPC: ADDRESS:PORT or unix:PATH; repeatable");
  add_words(serve, "--http-listen", &addresses->http,
            "HTTP, likewise: /v1, /json and /healthcheck");
  add_words(serve, "--https-listen", &addresses->https, "the same with TLS");
  add_words(serve, "--admin-listen", &addresses->admin,
            "HTTP: pages for people and Prometheus");
  add_words(serve, "--metrics-listen", &addresses->metrics,
            "HTTP: only the page for Prometheus");
  serve->add_flag("--share-ports", addresses->share_ports,
                  "beside a service that listens there already");
}

void add_answers(CLI::App* serve, ServeOptions* options) {
  serve->add_flag("--answer-headers", options->answer_headers,
                  "RateLimit-* headers in answers to Envoy");
  serve->add_flag("--dynamic-metadata", options->dynamic_metadata,
                  "dynamic metadata in answers to Envoy");
  serve
      ->add_option("--http-headers", options->header_style,
                   "style of /v1's headers (ietf)")
      ->type_name("STYLE");
}

void add_tls(CLI::App* serve, ServeOptions* options) {
  add_file(serve, "--tls-cert", &options->tls_cert,
           "certificate chain; turns TLS on");
  add_file(serve, "--tls-key", &options->tls_key, "its key");
  add_file(serve, "--tls-client-ca", &options->tls_client_ca,
           "who signs the certificates of clients");
  add_words(serve, "--tls-client-name", &options->tls_client_names,
            "a name that these must have; repeatable");
}

void add_connections(CLI::App* serve, ServeOptions* options) {
  add_number(serve, "--max-streams", &options->max_streams, 1'000'000,
             "calls of one connection at a time (1000)");
  add_number(serve, "--max-message", &options->max_message_bytes, 1 << 30,
             "bytes of a request (4194304)");
  add_duration(serve, "--keepalive-time", &options->keepalive_time_ns,
               "silence after which clients are asked (5m)");
  add_duration(serve, "--keepalive-timeout", &options->keepalive_timeout_ns,
               "time for the answer (20s)");
  add_duration(serve, "--max-connection-idle", &options->max_idle_ns,
               "time without a call (no limit)");
  add_duration(serve, "--max-connection-age", &options->max_age_ns,
               "age, give or take 10% (no limit)");
  add_duration(serve, "--max-connection-grace", &options->max_age_grace_ns,
               "then: time for open calls (1h)");
}

void add_process(CLI::App* serve, ServeOptions* options) {
  add_number(serve, "-w,--workers", &options->workers, 1024,
             "threads (as many as processors)");
  add_duration(serve, "--drain-delay", &options->drain_delay_ns,
               "after SIGTERM: NOT_SERVING for so long (0s)");
  add_duration(serve, "--drain-grace", &options->drain_grace_ns,
               "after that: time for open calls (30s)");
  serve
      ->add_option("--log-level", options->log_level,
                   "error, warning or info (info)")
      ->check(CLI::IsMember({"error", "warning", "info"}))
      ->type_name("LEVEL");
  serve->add_option("--log-format", options->log_format, "text or json (text)")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT");
}

void add_reports(CLI::App* serve, ServeOptions* options) {
  serve
      ->add_option("--statsd", options->statsd,
                   "statistics: tcp, udp or dogstatsd://HOST:PORT")
      ->type_name("URL");
  add_duration(serve, "--stats-interval", &options->stats_interval_ns,
               "time between them (10s)");
  serve
      ->add_option("--stats-tags", options->stats_tags,
                   "what they carry: NAME:VALUE,NAME:VALUE")
      ->type_name("TAGS");
  serve
      ->add_option("--otlp", options->otlp,
                   "spans, by OTLP over HTTP: http://HOST:4318")
      ->type_name("URL");
  serve
      ->add_option("--sampling-rate", options->sampling_rate,
                   "the share of requests that have spans (1)")
      ->check(CLI::Range(0.0, 1.0))
      ->type_name("SHARE");
}

void add_buckets(CLI::App* serve, ServeOptions* options) {
  serve
      ->add_option("-u,--store", options->remote.store,
                   "where the buckets are (LIMITREE_STORE)")
      ->type_name("URL");
  serve
      ->add_option("--set", options->remote.settings,
                   "an option of the library; repeatable")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
  serve->add_flag("--check-store", options->check_store,
                  "healthy only while the store answers");
}

// A setting as the word of a command line that means it.
std::string word_of(const CLI::App& serve, const std::string& file,
                    const CLI::ConfigItem& item, const std::string& value) {
  const CLI::Option* const option = serve.get_option_no_throw("--" + item.name);
  if (!item.parents.empty() || option == nullptr || item.name == "config" ||
      item.name == "help") {
    throw UsageError(file + ": no setting is called '" + item.fullname() +
                     "'; see serve --help");
  }
  return "--" + item.name + '=' + value;
}

std::vector<std::string> read_settings(const CLI::App& serve,
                                       const std::string& name) {
  std::ifstream file(name);
  // A folder can be opened but not read.
  if (!file || (file.peek(), file.bad())) {
    throw FileError(name, errno);
  }
  std::vector<std::string> words;
  for (const CLI::ConfigItem& item : CLI::ConfigTOML().from_config(file)) {
    for (const std::string& value : item.inputs) {
      words.push_back(word_of(serve, name, item, value));
    }
  }
  return words;
}

// Shows the options that `add` adds under a heading.
template <typename Add>
void add_group(CLI::App* serve, const char* heading, const Add& add) {
  const std::size_t first = serve->get_options().size();
  add();
  const std::vector<CLI::Option*> all = serve->get_options();
  for (std::size_t i = first; i < all.size(); ++i) all[i]->group(heading);
}

void add_options(CLI::App* serve, ServeOptions* options) {
  serve->add_option("limits,--limits", options->limits, "a limits.yaml")
      ->type_name("FILE");
  add_file(serve, "-c,--config", &options->settings_file, "a settings file");
  serve->add_flag("--ignore-environment", options->ignore_environment,
                  "take no variables of envoyproxy/ratelimit");
  add_group(serve, "Addresses",
            [&] { add_addresses(serve, &options->addresses); });
  add_group(serve, "Descriptors",
            [&] { add_descriptors(serve, &options->descriptors); });
  add_group(serve, "Descriptors by xDS",
            [&] { add_xds(serve, &options->xds); });
  add_group(serve, "Answers", [&] { add_answers(serve, options); });
  add_group(serve, "Buckets", [&] { add_buckets(serve, options); });
  add_group(serve, "TLS", [&] { add_tls(serve, options); });
  add_group(serve, "Connections", [&] { add_connections(serve, options); });
  add_group(serve, "Statistics and traces",
            [&] { add_reports(serve, options); });
  add_group(serve, "Process", [&] { add_process(serve, options); });
}

// CLI11 takes words from the end.
void parse_words(CLI::App* serve, std::vector<std::string> words) {
  std::reverse(words.begin(), words.end());
  serve->parse(std::move(words));
}

}  // namespace

CLI::App* add_serve(CLI::App* app, ServeOptions* options) {
  CLI::App* const serve =
      app->add_subcommand("serve", "Answer requests of other programs");
  add_options(serve, options);
  serve->footer(kServeFooter);
  return serve;
}

ServeOptions with_settings_file(const ServeOptions& options,
                                const std::vector<std::string>& words) {
  if (options.settings_file.empty()) return options;
  ServeOptions both;
  CLI::App from_file("", "serve");
  add_options(&from_file, &both);
  try {
    parse_words(&from_file, read_settings(from_file, options.settings_file));
  } catch (const CLI::ParseError& error) {
    throw UsageError(options.settings_file + ": " + error.what());
  }
  // They were parsed before.
  CLI::App from_words("", "serve");
  add_options(&from_words, &both);
  parse_words(&from_words, words);
  return both;
}

}  // namespace limitree::cli
