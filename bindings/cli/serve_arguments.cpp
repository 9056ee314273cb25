#include "serve_arguments.hpp"

#include "duration_option.hpp"

namespace limitree::cli {

namespace {

constexpr const char* kServeFooter =
    "Answers gRPC (Envoy's rate limit service, limitree.v1.Limiter,\n"
    "grpc.health.v1.Health, reflection) and\n"
    "HTTP (POST /v1/authorize and its sisters, GET /healthcheck).  The admin "
    "port\nhas /limits, /stats and /metrics.  Without an address it listens "
    "for gRPC on\n:8081, for HTTP on :8080, for the admin on 127.0.0.1:6070.\n"
    "SIGHUP reads the limits again; certificates are read again when their "
    "files\nchange.  SIGTERM drains: health says NOT_SERVING, open calls are "
    "answered.\n\n"
    "Without --store, and without LIMITREE_STORE in the environment, buckets "
    "are in\nmemory.  A store on another machine is served by one worker.\n\n"
    "Example:\n"
    "  limitree serve examples/limits.yaml --listen 127.0.0.1:8081";

void add_file(CLI::App* app, const char* name, std::string* file,
              const char* help) {
  app->add_option(name, *file, help)->type_name("FILE");
}

void add_words(CLI::App* app, const std::string& name,
               std::vector<std::string>* words, const std::string& help) {
  app->add_option(name, *words, help)->allow_extra_args(false);
}

void add_addresses(CLI::App* serve, ServeOptions* options) {
  add_words(serve, "-l,--listen", &options->addresses,
            "gRPC: ADDRESS:PORT or unix:PATH; repeatable");
  add_words(serve, "--http-listen", &options->http_addresses,
            "HTTP, likewise: /v1 and /healthcheck");
  add_words(serve, "--https-listen", &options->https_addresses,
            "the same with TLS");
  add_words(serve, "--admin-listen", &options->admin_addresses,
            "HTTP for people and Prometheus");
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
  serve
      ->add_option("--max-streams", options->max_streams,
                   "calls of one connection at a time (1000)")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N");
  serve
      ->add_option("--max-message", options->max_message_bytes,
                   "bytes of a request (4194304)")
      ->check(CLI::Range(1, 1 << 30))
      ->type_name("N");
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
  add_duration(serve, "--drain-delay", &options->drain_delay_ns,
               "after SIGTERM: NOT_SERVING for so long (0s)");
  add_duration(serve, "--drain-grace", &options->drain_grace_ns,
               "after that: time for open calls (30s)");
}

}  // namespace

CLI::App* add_serve(CLI::App* app, ServeOptions* options) {
  CLI::App* const serve =
      app->add_subcommand("serve", "Answer requests of other programs");
  serve->add_option("limits", options->limits, "a limits.yaml")
      ->required()
      ->type_name("FILE");
  add_addresses(serve, options);
  serve
      ->add_option("-w,--workers", options->workers,
                   "threads (as many as processors)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  serve
      ->add_option("-u,--store", options->remote.store,
                   "where the buckets are (LIMITREE_STORE)")
      ->type_name("URL");
  serve
      ->add_option("--set", options->remote.settings,
                   "an option of the library; repeatable")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
  serve
      ->add_option("--descriptors", options->descriptors,
                   "a configuration file of envoyproxy/ratelimit; repeatable")
      ->allow_extra_args(false)
      ->type_name("FILE");
  serve->add_flag("--answer-headers", options->answer_headers,
                  "RateLimit-* headers in answers to Envoy");
  serve->add_flag("--dynamic-metadata", options->dynamic_metadata,
                  "dynamic metadata in answers to Envoy");
  add_tls(serve, options);
  add_connections(serve, options);
  serve->footer(kServeFooter);
  return serve;
}

}  // namespace limitree::cli
