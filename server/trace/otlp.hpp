// Spans as the messages of OpenTelemetry.

#ifndef LIMITREE_SERVER_TRACE_OTLP_HPP
#define LIMITREE_SERVER_TRACE_OTLP_HPP

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "net/timer.hpp"
#include "trace/settings.hpp"
#include "trace/span.hpp"

namespace limitree::server {

// Writes opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest.
class OtlpWriter {
 public:
  // `methods` are paths such as "/grpc.health.v1.Health/Check"; a method's
  // place among them is its number.
  OtlpWriter(const TraceSettings& settings, std::vector<std::string> methods);

  // `to_unix` is what to add to instants to get nanoseconds since 1970.
  std::string write(std::span<const Span> spans, Nanoseconds to_unix) const;

 private:
  struct Method {
    std::string name;  // "grpc.health.v1.Health/Check"
    std::string attributes;
  };

  std::string write_span(const Span& span, Nanoseconds to_unix) const;

  std::string resource_;
  std::vector<Method> methods_;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_TRACE_OTLP_HPP
