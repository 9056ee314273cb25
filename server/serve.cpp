#include "serve.hpp"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "admission.hpp"
#include "config/config_thread.hpp"
#include "connection_set.hpp"
#include "http/http_server.hpp"
#include "io/address.hpp"
#include "io/failure.hpp"
#include "io/loop.hpp"
#include "io/trouble.hpp"
#include "limitree.hpp"
#include "live.hpp"
#include "log.hpp"
#include "process.hpp"
#include "reports.hpp"
#include "stats/process_usage.hpp"
#include "stats/service_stats.hpp"
#include "stats/snapshot.hpp"
#include "web/admin_pages.hpp"
#include "worker.hpp"

namespace limitree::server {

namespace {

constexpr Duration kFilesInterval = kOneSecond;

// Of the admin pages, and of Prometheus.
constexpr std::size_t kMostPageConnections = 100;
constexpr std::size_t kPageBytes = 16 * 1024 * 1024;

// How long the store may take by default.
constexpr const char* kStoreTimeout = "250ms";

Config config_of(const ServeSettings& settings) {
  Config config;
  // Only the client waits for the store, and its deadline counts, too.
  config.set("timeout", kStoreTimeout);
  if (!settings.store.url.empty()) config.set("store", settings.store.url);
  for (const auto& [name, value] : settings.store.options) {
    config.set(name, value);
  }
  if (settings.shadow) config.set("shadow_mode", "on");
  for (const auto& [name, value] : settings.options) config.set(name, value);
  check(limitree_config_set_completion, config.get(), complete_requests,
        nullptr, nullptr);
  config.set_log(log_event, nullptr);
  return config;
}

// The pages of a port of the main thread, where one may take longer.
struct Pages {
  Pages(std::size_t max_body_bytes, Loop* loop,
        const ConnectionSettings* settings)
      : server(max_body_bytes), connections(loop, settings, nullptr, [] {}) {
    connections.set_most(std::clamp(raise_descriptor_limit() / 16,
                                    std::size_t{1}, kMostPageConnections));
    connections.memory()->set_most(kPageBytes);
  }

  HttpServer server;
  ConnectionSet connections;
};

// The main thread: signals, certificates and the workers.
class Service final : public Watcher, public ConfigListener {
 public:
  explicit Service(const ServeSettings& settings)
      : settings_(settings),
        signals_(watch_signals()),
        stats_([this] { return counts(); }),
        config_(&settings, this),
        limiter_(make_limiter()),
        admission_(settings),
        // The remaining descriptors are for pages, the store, the log and files
        // that are read again.
        permits_(std::min(raise_descriptor_limit() / 4 * 3,
                          settings.max_connections)),
        admin_pages_(
            &limiter_, [this] { return service_metrics(); },
            [this] { return stats_text(stats_.snapshot()); }),
        admin_(settings.max_message_bytes, &loop_, &settings.connection),
        live_(&settings, limiter_.get(), &descriptors_, admission_.token(),
              &loop_),
        metrics_(0, &loop_, &settings.connection),  // takes no bodies
        reports_(settings, &stats_),
        delay_(&loop_, [this] { drain(); }),
        files_check_(&loop_, [this] { check_files(); }),
        waits_(!settings.xds.server.empty() &&
               !settings.starts_without_descriptors) {
    admin_pages_.add_to(admin_.server.handlers());
    live_.loaded(Loaded::kDescriptors, first_report_);  // limits were right
    live_.add_to(admin_.server.handlers());
    admin_pages_.add_metrics_to(settings.metrics_path,
                                metrics_.server.handlers());
    // Connections of clients, however many, do not keep a probe from it.
    if (settings.metrics_path != kLivePath) {
      metrics_.server.handlers()->add(kLivePath, HttpMethods::kGet,
                                      answer_alive);
    }
    loop_.add(signals_.get(), EPOLLIN, this);
    make_workers();
    if (!limiter_.is_remote()) store_answers_ = true;
    tell_health();
    reports_.start(workers_[0]->operations(),
                   [this] { return admin_pages_.metrics(); });
    if (!waits_) listen();
  }

  // Its thread uses the limiter.
  ~Service() { config_.stop(); }

  void run() {
    config_.start(&limiter_);
    if (waits_) {
      log_line("waiting for descriptors of " + settings_.xds.server);
    } else {
      start_workers();
    }
    check_files();
    loop_.run();
    config_.stop();
    for (const auto& worker : workers_) worker->join();
    for (Pages* pages : {&admin_, &metrics_}) pages->connections.clear();
    reports_.end();
    forget_unix_paths();
    log_line("stopped");
  }

  void loaded(Loaded what, const LoadReport& report) override {
    loop_.post([this, what, report] { tell(what, report); });
  }

  void server_lost(const std::string& why) override {
    loop_.post([why] { log_line(LogLevel::kWarning, why); });
  }

  void store_answers(bool answers) override {
    loop_.post([this, answers] {
      if (store_answers_ == answers) return;
      if (store_answers_ || !answers) {
        log_line(LogLevel::kWarning,
                 answers ? "the store answers" : "the store does not answer");
      }
      store_answers_ = answers;
      live_.store_answers(answers);
      tell_health();
    });
  }

  void on_ready(std::uint32_t /*events*/) override {
    signalfd_siginfo info{};
    while (read(signals_.get(), &info, sizeof info) ==
           static_cast<ssize_t>(sizeof info)) {
      if (info.ssi_signo == SIGHUP) {
        config_.reload();
      } else {
        end();
      }
    }
  }

 private:
  void start_workers() {
    running_ = workers_.size();
    for (const auto& worker : workers_) {
      worker->start([this] {
        loop_.post([this] {
          if (--running_ == 0) loop_.stop();
        });
      });
    }
  }

  Limiter make_limiter() {
    Config config = config_of(settings_);
    first_report_ = config_.read(&config);
    const LoadReport& report = first_report_;
    for (const std::string& mistake : report.mistakes) {
      log_line(LogLevel::kError, mistake);
    }
    if (!report.loaded) {
      log_line(LogLevel::kWarning, "there are no descriptors yet");
    }
    domains_ = report.files;
    if (!report.loaded || !settings_.xds.server.empty()) descriptors_.miss();
    if (!settings_.limits.empty() || !settings_.descriptors.places.empty()) {
      stats_.loaded(report.loaded);
    }
    return Limiter(config);
  }

  Snapshot counts() {
    Snapshot counts = snapshot_of(limiter_.get());
    counts.at(ServiceCounter::kServiceError) += descriptors_.refusals();
    return counts;
  }

  std::string service_metrics() const {
    Snapshot snapshot = stats_.snapshot();
    snapshot.process = process_usage();
    return prometheus_text(snapshot);
  }

  void make_workers() {
    for (std::size_t i = 0; i < settings_.workers; ++i) {
      const Worker::Shared shared = {&settings_,    limiter_.get(),
                                     &descriptors_, &permits_,
                                     &put_limits_,  admission_.token()};
      workers_.push_back(
          std::make_unique<Worker>(shared, reports_.make_tracer()));
      stats_.add_worker(workers_.back()->stats());
      live_.add_worker(workers_.back()->denied());
      workers_.back()->set_tls(admission_.tls());
    }
  }

  void listen() {
    std::string places;
    for (const ListenPlace& place : settings_.places) {
      places += (places.empty() ? "" : ", ") + listen_at(place);
    }
    announce("listening on " + places + " with " +
             counted(workers_.size(), "worker"));
  }

  // Returns the address, with the port that the system chose.  The ports of the
  // admin pages and of Prometheus are never shared: their answers are about one
  // service.
  std::string listen_at(const ListenPlace& place) {
    if (place.purpose == ListenFor::kHttps && !admission_.tls()) {
      throw Failure("HTTPS needs a certificate of the server");
    }
    const ListenAddress address = ListenAddress::parse(place.address);
    const bool shares = settings_.shares_ports && !address.is_unix() &&
                        place.purpose != ListenFor::kAdmin &&
                        place.purpose != ListenFor::kMetrics;
    Fd first = shares ? listen_beside(address) : listen_on(address);
    const ListenAddress bound = ListenAddress::of(first.get());
    if (address.is_unix()) unix_paths_.push_back(address.unix_path());
    if (place.purpose == ListenFor::kAdmin ||
        place.purpose == ListenFor::kMetrics) {
      Pages& pages = place.purpose == ListenFor::kAdmin ? admin_ : metrics_;
      pages.connections.listen(std::move(first),
                               admission_.access_of(place.purpose, bound),
                               pages.server.protocols());
    } else {
      share(place.purpose, bound, std::move(first));
    }
    return place_text(place.purpose, bound.text());
  }

  // Each worker has a TCP socket of its own; a Unix socket is shared.
  void share(ListenFor purpose, const ListenAddress& bound, Fd first) {
    const Access access = admission_.access_of(purpose, bound);
    for (std::size_t i = 1; i < workers_.size(); ++i) {
      workers_[i]->listen(
          purpose,
          bound.is_unix() ? Fd(dup(first.get())) : listen_beside(bound),
          access);
    }
    workers_[0]->listen(purpose, std::move(first), access);
  }

  void tell(Loaded what, const LoadReport& report) {
    const std::string name =
        what == Loaded::kAll ? "the limits" : "the descriptors";
    stats_.loaded(report.loaded);
    live_.loaded(what, report);
    if (!report.loaded) {
      tell_mistakes(name, report);
      return;
    }
    domains_ = report.files;
    if (what == Loaded::kDescriptors || settings_.xds.server.empty()) {
      descriptors_.loaded();
    }
    log_line(
        name + " are reloaded" +
        (what == Loaded::kAll ? "" : ": " + counted(report.files, "file")));
    tell_health();
    if (waits_ && !ending_ && what == Loaded::kDescriptors) serve_now();
  }

  // If the same mistakes come again and again, logs only their number, each
  // time that it has doubled.
  static void tell_mistakes(const std::string& name, const LoadReport& report) {
    const std::size_t times = report.repeats + 1;
    if (times > 1) {
      if (!std::has_single_bit(times)) return;
      log_line(LogLevel::kError, name + " have the same mistakes, " +
                                     counted(times, "time") + " in a row");
      return;
    }
    for (const std::string& mistake : report.mistakes) {
      log_line(LogLevel::kError, mistake);
    }
    log_line(LogLevel::kError, name + " are as before");
  }

  // Called when a server has sent the first descriptors.
  void serve_now() {
    waits_ = false;
    listen();
    start_workers();
  }

  // Reports whether clients should send requests.
  void tell_health() {
    const HealthSettings& health = settings_.health;
    const bool serving = !ending_ && (!health.needs_domain || domains_ > 0) &&
                         (!health.needs_store || store_answers_ == true);
    for (const auto& worker : workers_) worker->set_serving(serving);
  }

  void check_files() {
    if (admission_.refresh()) {
      for (const auto& worker : workers_) worker->change_tls(admission_.tls());
    }
    files_check_.set(after(loop_.now(), kFilesInterval));
  }

  // First the health status tells clients to go elsewhere, then the connections
  // do.
  void end() {
    if (ending_) {
      forget_unix_paths();
      for (const auto& worker : workers_) worker->stop();
      return;
    }
    ending_ = true;
    if (waits_) {
      loop_.stop();
      return;
    }
    // Set first, in case there is no memory for what follows.
    delay_.set(after(loop_.now(), settings_.drain_delay));
    log_line("draining");
    tell_health();
  }

  // Called while the sockets still listen: later, the files could belong to a
  // service that has taken over.
  void forget_unix_paths() {
    for (const std::string& path : unix_paths_) unlink(path.c_str());
    unix_paths_.clear();
  }

  void drain() {
    forget_unix_paths();
    for (const auto& worker : workers_) worker->drain();
  }

  const ServeSettings& settings_;
  Loop loop_;
  std::size_t domains_ = 0;
  std::optional<bool> store_answers_;  // none: it was not asked yet
  bool ending_ = false;
  Fd signals_;
  ServiceStats stats_;
  DescriptorsState descriptors_;
  ConfigThread config_;
  LoadReport first_report_;  // of make_limiter()
  Limiter limiter_;
  Admission admission_;
  PutLimits put_limits_{limiter_.get()};
  Permits permits_;  // of connections to the workers
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::string> unix_paths_;
  AdminPages admin_pages_;
  Pages admin_;
  Live live_;  // of admin_
  Pages metrics_;
  Reports reports_;
  Timer delay_;
  Timer files_check_;
  std::size_t running_ = 0;
  bool waits_;  // for the first descriptors of a server
};

}  // namespace

void serve(const ServeSettings& settings) {
  set_log(settings.log);
  listen_to_trouble(log_trouble);
  Service(settings).run();
}

}  // namespace limitree::server
