// What the service sends to others: spans, metrics, and lines of StatsD.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.hpp"
#include "io/background.hpp"
#include "stats/service_stats.hpp"
#include "trace/exporter.hpp"

namespace limitree::server {

// Its threads log when sending begins to fail or to work.
class Reports {
 public:
  // Both outlive this.  Throws Failure if the settings are wrong.
  Reports(const ServeSettings& settings, ServiceStats* stats);

  // For a worker; null if nothing is traced.  Call this before start().
  std::shared_ptr<Tracer> make_tracer();

  // Begins to send.  `operations` are those of a worker; `read_page` returns
  // the page for Prometheus, from any thread, until end().
  void start(const std::vector<std::string>& operations,
             std::function<std::string()> read_page);
  // Sends what is left.
  void end();

 private:
  const ServeSettings& settings_;
  ServiceStats& stats_;
  const std::string resource_;
  std::optional<SpanExporter> spans_;
  std::unique_ptr<Background> metrics_;
  std::unique_ptr<Background> statsd_;
};

}  // namespace limitree::server
