// The page for Prometheus as a message of OpenTelemetry.
//
// So both have the same metrics, by the same names.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace limitree::server {

// When the counters began and when they were read, in nanoseconds since 1970.
struct MetricTimes {
  std::uint64_t begun;
  std::uint64_t read;
};

// Writes opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest.
// `page` has counters, gauges and histograms in the text format 0.0.4, each
// with its help and its type before its values.  Sums and histograms are
// cumulative.
std::string metrics_message(std::string_view page, std::string_view resource,
                            const MetricTimes& times);

}  // namespace limitree::server
