// Spans as the messages of OpenTelemetry.

#ifndef LIMITREE_SERVER_TRACE_OTLP_HPP
#define LIMITREE_SERVER_TRACE_OTLP_HPP

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/timer.hpp"
#include "trace/settings.hpp"
#include "trace/tracer.hpp"

namespace limitree::server {

// Writes opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest.
class OtlpWriter {
 public:
  // `operations` are paths of gRPC such as "/grpc.health.v1.Health/Check", and
  // of HTTP such as "POST /v1/authorize", where the method _OTHER stands for
  // methods without their own operation.  The number of an operation is its
  // index.
  OtlpWriter(const TraceSettings& settings,
             const std::vector<std::string>& operations);

  // `to_unix` is added to times to get nanoseconds since 1970.
  std::string write(std::span<const Span> spans, Duration to_unix) const;

 private:
  struct Operation {
    std::string name;  // "grpc.health.v1.Health/Check", "POST /v1/authorize"
    std::string attributes;
    bool is_http;
  };

  static Operation grpc_operation(std::string_view path);
  static Operation http_operation(std::string_view text);
  std::string write_span(const Span& span, Duration to_unix) const;

  std::string resource_;
  std::vector<Operation> operations_;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_TRACE_OTLP_HPP
