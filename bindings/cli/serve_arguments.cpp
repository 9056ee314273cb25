#include "serve_arguments.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <fstream>
#include <utility>

#include "arguments.hpp"
#include "duration_option.hpp"
#include "failure.hpp"
#include "terminal.hpp"

namespace limitree::cli {

namespace {

constexpr const char* kServeFooter =
    "In parentheses: the default.  Options with \"...\" may be repeated.\n\n"
    "What it answers:\n"
    "  gRPC    Envoy's rate limit service, limitree.v1.Limiter, health, "
    "reflection\n"
    "  HTTP    POST /v1/authorize, peek, spend, refund and reset; /json, which "
    "is\n          Envoy's service, too; GET /healthcheck\n"
    "  admin   GET /, which lists /limits, /rlconfig, /stats and /metrics\n"
    "If no address is given: gRPC on :8081, HTTP on :8080, admin on "
    "127.0.0.1:6070.\n\n"
    "Signals:\n"
    "  SIGHUP   read limits and descriptors again.  Descriptors and "
    "certificates are\n           also read again when their files change\n"
    "  SIGTERM  end: health says NOT_SERVING, open calls are answered\n\n"
    "An option of the command line counts first, then the settings file, then "
    "the\nenvironment: the variables of envoyproxy/ratelimit, such as "
    "GRPC_PORT "
    "and\nRUNTIME_ROOT.  A settings file has a line for each option: workers = "
    "4,\nlisten = [\":8081\"].  Without --store, LIMITREE_STORE and REDIS_URL, "
    "buckets are\nin memory.\n\n"
    "Examples:\n"
    "  limitree serve examples/limits.yaml --listen 127.0.0.1:8081\n"
    "  limitree serve --descriptors examples/descriptors";

// What an option is called, and what its value is.
struct Named {
  const char* name;
  const char* value;
};

void add_text(CLI::App* serve, const Named& option, std::string* text,
              const char* help) {
  serve->add_option(option.name, *text, help)->type_name(option.value);
}

void add_file(CLI::App* serve, const char* name, std::string* file,
              const char* help) {
  serve->add_option(name, *file, help)->type_name("FILE");
}

// An option that may be repeated.
void add_words(CLI::App* serve, const Named& option,
               std::vector<std::string>* words, const char* help) {
  serve->add_option(option.name, *words, help)
      ->allow_extra_args(false)
      ->type_name(option.value);
}

// A check that is not part of the help.
CLI::Validator silent(CLI::Validator check) { return check.description(""); }

template <typename Number>
void add_number(CLI::App* serve, const char* name, Number* number, int most,
                const char* help) {
  serve->add_option(name, *number, help)
      ->check(silent(CLI::Range(1, most)))
      ->type_name("N");
}

void add_descriptors(CLI::App* serve, DescriptorOptions* options) {
  add_words(serve, {"-d,--descriptors", "PLACE"}, &options->places,
            "a file with limits of Envoy, or a folder of such");
  serve->add_flag("--merge-domains", options->merge_domains,
                  "let several files have one domain");
  serve->add_flag("--dot-files", options->dot_files,
                  "read also files whose names begin with a dot");
  serve->add_flag("--start-without", options->start_without,
                  "start even without descriptors that are valid");
  serve->add_flag("--healthy-with", options->healthy_with,
                  "be healthy only with at least one domain");
}

void add_xds(CLI::App* serve, XdsOptions* options) {
  add_text(serve, {"--xds", "HOST:PORT"}, &options->server,
           "a server that descriptors come from");
  add_text(serve, {"--xds-node", "NAME"}, &options->node_id,
           "what it knows this service as (default)");
  add_words(serve, {"--xds-metadata", "NAME=VALUE"}, &options->node_metadata,
            "metadata of the node");
  add_words(serve, {"--xds-header", "NAME:VALUE"}, &options->headers,
            "a field for the header of requests");
  serve->add_flag("--xds-tls", options->tls, "connect with TLS");
  add_file(serve, "--xds-ca", &options->ca,
           "who signs its certificate (those of the system)");
  add_file(serve, "--xds-cert", &options->cert, "a certificate for it");
  add_file(serve, "--xds-key", &options->key, "its key");
  add_text(serve, {"--xds-name", "NAME"}, &options->server_name,
           "the name in its certificate (the host)");
}

void add_addresses(CLI::App* serve, AddressOptions* addresses) {
  add_words(serve, {"-l,--listen", "ADDRESS"}, &addresses->grpc,
            "gRPC: 127.0.0.1:8081, [::1]:8081, :8081, unix:FILE");
  add_words(serve, {"--http-listen", "ADDRESS"}, &addresses->http,
            "HTTP: /v1, /json and /healthcheck");
  add_words(serve, {"--https-listen", "ADDRESS"}, &addresses->https,
            "the same with TLS, by --tls-cert");
  add_words(serve, {"--admin-listen", "ADDRESS"}, &addresses->admin,
            "HTTP: pages for people and Prometheus");
  add_words(serve, {"--metrics-listen", "ADDRESS"}, &addresses->metrics,
            "HTTP: only the page for Prometheus");
  add_words(serve, {"--http-host", "NAME"}, &addresses->http_hosts,
            "another name for HTTP on the loopback device");
  serve->add_flag("--plain-http", addresses->plain_http,
                  "with --tls-client-ca: let HTTP be without TLS");
  serve->add_flag("--share-ports", addresses->share_ports,
                  "beside a service that listens there already");
}

void add_answers(CLI::App* serve, ServeOptions* options) {
  serve->add_flag("--answer-headers", options->answer_headers,
                  "add RateLimit-* headers to answers to Envoy");
  serve->add_flag("--dynamic-metadata", options->dynamic_metadata,
                  "add dynamic metadata to answers to Envoy");
  serve
      ->add_option("--http-headers", options->header_style,
                   "style of the headers of /v1 (ietf)")
      ->type_name("STYLE");
}

void add_tls(CLI::App* serve, ServeOptions* options) {
  add_file(serve, "--tls-cert", &options->tls_cert,
           "certificate chain; turns TLS on");
  add_file(serve, "--tls-key", &options->tls_key, "its key");
  add_file(serve, "--tls-client-ca", &options->tls_client_ca,
           "who signs the certificates of clients");
  add_words(serve, {"--tls-client-name", "NAME"}, &options->tls_client_names,
            "a name that these must have");
  add_file(serve, "--admin-token-file", &options->admin_token_file,
           "token of who may reset, refund and spend");
}

void add_connections(CLI::App* serve, ServeOptions* options) {
  add_number(serve, "--max-streams", &options->max_streams, 1'000'000,
             "calls of one connection at a time (1000)");
  add_number(serve, "--max-message", &options->max_message_bytes, 1 << 30,
             "bytes of a request (4194304)");
  add_number(serve, "--max-connections", &options->max_connections, 10'000'000,
             "connections at a time (20000)");
  add_number(serve, "--max-buffered", &options->max_buffered_bytes, INT_MAX,
             "bytes that clients may make it hold (268435456)");
  add_duration(serve, "--keepalive-time", &options->keepalive_time_ns,
               "silence after which clients are pinged (5m)");
  add_duration(serve, "--keepalive-timeout", &options->keepalive_timeout_ns,
               "time for their answer (20s)");
  add_duration(serve, "--max-connection-idle", &options->max_idle_ns,
               "time that a connection has no call (no limit)");
  add_duration(serve, "--max-connection-age", &options->max_age_ns,
               "how long a connection lasts (no limit)");
  add_duration(serve, "--max-connection-grace", &options->max_age_grace_ns,
               "and then its open calls (1h)");
}

void add_process(CLI::App* serve, ServeOptions* options) {
  add_number(serve, "-w,--workers", &options->workers, 1024,
             "threads (as many as processors)");
  add_duration(serve, "--drain-delay", &options->drain_delay_ns,
               "after SIGTERM: time of NOT_SERVING (0s)");
  add_duration(serve, "--drain-grace", &options->drain_grace_ns,
               "after that: time for open calls (30s)");
  serve
      ->add_option("--log-level", options->log_level,
                   "error, warning or info (info)")
      ->check(silent(CLI::IsMember({"error", "warning", "info"})))
      ->type_name("LEVEL");
  serve->add_option("--log-format", options->log_format, "text or json (text)")
      ->check(silent(CLI::IsMember({"text", "json"})))
      ->type_name("FORMAT");
}

void add_reports(CLI::App* serve, ServeOptions* options) {
  serve
      ->add_option("--statsd", options->statsd,
                   "statistics: tcp://HOST:PORT, or udp, dogstatsd")
      ->type_name("URL");
  add_duration(serve, "--stats-interval", &options->stats_interval_ns,
               "how often they are sent (10s)");
  serve
      ->add_option("--stats-tags", options->stats_tags,
                   "tags that they carry: NAME:VALUE,NAME:VALUE")
      ->type_name("TAGS");
  serve->add_option("--otlp", options->otlp, "spans, by OTLP: http://HOST:4318")
      ->type_name("URL");
  serve
      ->add_option("--sampling-rate", options->sampling_rate,
                   "share of requests that have a span (1)")
      ->check(silent(CLI::Range(0.0, 1.0)))
      ->type_name("SHARE");
}

void add_buckets(CLI::App* serve, ServeOptions* options) {
  serve
      ->add_option("-u,--store", options->remote.store,
                   "where the buckets are, such as redis://HOST:6379")
      ->type_name("URL");
  serve
      ->add_option("--set", options->remote.settings,
                   "an option of the library")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
  serve->add_flag("--check-store", options->check_store,
                  "be healthy only while the store answers");
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
                  "ignore the variables of envoyproxy/ratelimit");
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

std::vector<std::string> words_of_original(
    const std::vector<std::string>& words) {
  ServeOptions unused;
  CLI::App serve("", "serve");
  add_options(&serve, &unused);
  std::vector<std::string> known = {"serve"};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string name = words[i].substr(0, words[i].find('='));
    const CLI::Option* const option =
        name.starts_with("--") ? serve.get_option_no_throw(name) : nullptr;
    if (option == nullptr) {
      complain("warning: the argument '" + words[i] + "' has no effect");
      continue;
    }
    known.push_back(words[i]);
    const bool has_value = option->get_items_expected_max() > 0;
    if (has_value && name == words[i] && i + 1 < words.size()) {
      known.push_back(words[++i]);
    }
  }
  return known;
}

CLI::App* add_serve(CLI::App* app, ServeOptions* options) {
  CLI::App* const serve = app->add_subcommand(
      "serve", "Be the service that Envoy and other programs ask");
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
