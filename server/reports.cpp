#include "reports.hpp"

#include <atomic>
#include <cstdint>
#include <utility>

#include "log.hpp"
#include "stats/statsd_reporter.hpp"
#include "trace/metric_exporter.hpp"
#include "trace/resource.hpp"

namespace limitree::server {

namespace {

void say(const std::string& message) { log_line(LogLevel::kWarning, message); }

}  // namespace

Reports::Reports(const ServeSettings& settings, ServiceStats* stats)
    : settings_(settings),
      stats_(*stats),
      resource_(resource_message(settings.resource)) {
  if (settings.trace.enabled) spans_.emplace(settings.trace, resource_, say);
}

std::shared_ptr<Tracer> Reports::make_tracer() {
  return spans_ ? spans_->make_tracer() : nullptr;
}

void Reports::start(const std::vector<std::string>& operations,
                    std::function<std::string()> read_page) {
  if (spans_) {
    spans_->start(operations);
    stats_.add_loss("limitree.spans_lost", [this] { return spans_->lost(); });
  }
  std::shared_ptr<std::atomic<std::uint64_t>> lost;
  if (settings_.stats.format != StatsFormat::kNone) {
    lost = std::make_shared<std::atomic<std::uint64_t>>(0);
    stats_.add_loss("limitree.statsd_lines_lost",
                    [lost] { return lost->load(); });
  }
  // All counters are there: now threads may read them.
  if (settings_.metrics.enabled) {
    metrics_ =
        export_metrics(settings_.metrics, resource_, std::move(read_page), say);
  }
  if (lost) {
    statsd_ = report_to_statsd(
        settings_.stats, [this] { return stats_.snapshot(); }, say, lost);
  }
}

void Reports::end() {
  metrics_.reset();
  statsd_.reset();
  spans_.reset();
}

}  // namespace limitree::server
