#include "trace/otlp.hpp"

#include <algorithm>
#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <string_view>

namespace limitree::server {

namespace {

using protozero::pbf_writer;

// The numbers of the fields, by their messages.
enum Request : protozero::pbf_tag_type { kResourceSpans = 1 };
enum ResourceSpans : protozero::pbf_tag_type { kResource = 1, kScopeSpans = 2 };
enum Resource : protozero::pbf_tag_type { kResourceAttributes = 1 };
enum ScopeSpans : protozero::pbf_tag_type { kScope = 1, kSpans = 2 };
enum Scope : protozero::pbf_tag_type { kScopeName = 1 };
enum KeyValue : protozero::pbf_tag_type { kKey = 1, kValue = 2 };
enum AnyValue : protozero::pbf_tag_type { kString = 1, kInt = 3 };
enum Status : protozero::pbf_tag_type { kCode = 3 };
enum SpanField : protozero::pbf_tag_type {
  kTraceId = 1,
  kSpanId = 2,
  kParentId = 4,
  kName = 5,
  kKind = 6,
  kStart = 7,
  kEnd = 8,
  kAttributes = 9,
  kStatus = 15,
};

constexpr std::int32_t kServer = 2;     // a kind
constexpr std::int32_t kErrorCode = 2;  // a code of Status

// The statuses of HTTP and the codes of gRPC that are the server's fault.
bool is_http_fault(std::uint16_t status) { return status >= 500; }

bool is_grpc_fault(std::uint16_t code) {
  constexpr std::uint16_t kUnknown = 2;
  constexpr std::uint16_t kDeadlineExceeded = 4;
  constexpr std::uint16_t kUnimplemented = 12;
  constexpr std::uint16_t kInternal = 13;
  constexpr std::uint16_t kUnavailable = 14;
  constexpr std::uint16_t kDataLoss = 15;
  return code == kUnknown || code == kDeadlineExceeded ||
         code == kUnimplemented || code == kInternal || code == kUnavailable ||
         code == kDataLoss;
}

void add_attribute(protozero::pbf_tag_type tag, std::string_view name,
                   std::string_view value, std::string* to) {
  pbf_writer all(*to);
  pbf_writer attribute(all, tag);
  attribute.add_string(kKey, name.data(), name.size());
  pbf_writer any(attribute, kValue);
  any.add_string(kString, value.data(), value.size());
}

void add_number(std::string_view name, std::int64_t value, pbf_writer* span) {
  pbf_writer attribute(*span, kAttributes);
  attribute.add_string(kKey, name.data(), name.size());
  pbf_writer any(attribute, kValue);
  any.add_int64(kInt, value);
}

template <std::size_t kSize>
void add_id(protozero::pbf_tag_type tag,
            const std::array<std::uint8_t, kSize>& id, pbf_writer* span) {
  span->add_bytes(tag, reinterpret_cast<const char*>(id.data()), kSize);
}

// A random UUID, version 4.
std::string make_uuid() {
  std::array<std::uint8_t, 16> bytes;
  RandomBytes().fill(bytes);
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0F) | 0x40);
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3F) | 0x80);
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += "0123456789abcdef"[bytes[i] >> 4];
    text += "0123456789abcdef"[bytes[i] & 15];
  }
  return text;
}

}  // namespace

OtlpWriter::OtlpWriter(const TraceSettings& settings,
                       const std::vector<std::string>& operations) {
  const auto add = [this](std::string_view name, const std::string& value) {
    add_attribute(kResourceAttributes, name, value, &resource_);
  };
  add("service.name", settings.service_name);
  if (!settings.service_namespace.empty()) {
    add("service.namespace", settings.service_namespace);
  }
  add("service.instance.id", settings.service_instance_id.empty()
                                 ? make_uuid()
                                 : settings.service_instance_id);
  for (const std::string& one : operations) {
    operations_.push_back(one.starts_with('/') ? grpc_operation(one)
                                               : http_operation(one));
  }
}

OtlpWriter::Operation OtlpWriter::grpc_operation(std::string_view path) {
  Operation made{std::string(path.substr(1)), {}, false};
  const std::string_view name = made.name;
  const std::size_t slash = std::min(name.find('/'), name.size() - 1);
  add_attribute(kAttributes, "rpc.system", "grpc", &made.attributes);
  add_attribute(kAttributes, "rpc.service", name.substr(0, slash),
                &made.attributes);
  add_attribute(kAttributes, "rpc.method", name.substr(slash + 1),
                &made.attributes);
  return made;
}

OtlpWriter::Operation OtlpWriter::http_operation(std::string_view text) {
  const std::size_t blank = text.find(' ');
  const std::string_view method = text.substr(0, blank);
  const std::string_view path = text.substr(blank + 1);
  Operation made{std::string(text), {}, true};
  if (method == "_OTHER") made.name = "HTTP " + std::string(path);
  add_attribute(kAttributes, "http.request.method", method, &made.attributes);
  add_attribute(kAttributes, "http.route", path, &made.attributes);
  add_attribute(kAttributes, "url.path", path, &made.attributes);
  return made;
}

std::string OtlpWriter::write_span(const Span& span, Duration to_unix) const {
  const Operation& operation = operations_[span.operation];
  std::string text;
  pbf_writer writer(text);
  add_id(kTraceId, span.trace_id, &writer);
  add_id(kSpanId, span.span_id, &writer);
  if (span.parent_id != SpanId{}) add_id(kParentId, span.parent_id, &writer);
  writer.add_string(kName, operation.name);
  writer.add_enum(kKind, kServer);
  const auto unix_ns = [&](Monotonic at) {
    return static_cast<std::uint64_t>(
        (at.time_since_epoch() + to_unix).count());
  };
  writer.add_fixed64(kStart, unix_ns(span.begun));
  writer.add_fixed64(kEnd, unix_ns(span.ended));
  text += operation.attributes;
  if (!operation.is_http) {
    add_number("rpc.grpc.status_code", span.status, &writer);
  } else if (span.status != 0) {
    add_number("http.response.status_code", span.status, &writer);
  }
  if (operation.is_http ? is_http_fault(span.status)
                        : is_grpc_fault(span.status)) {
    pbf_writer status(writer, kStatus);
    status.add_enum(kCode, kErrorCode);
  }
  return text;
}

std::string OtlpWriter::write(std::span<const Span> spans,
                              Duration to_unix) const {
  std::string text;
  pbf_writer request(text);
  pbf_writer resource_spans(request, kResourceSpans);
  resource_spans.add_message(kResource, resource_);
  pbf_writer scope_spans(resource_spans, kScopeSpans);
  {
    pbf_writer scope(scope_spans, kScope);
    scope.add_string(kScopeName, "limitree");
  }
  for (const Span& span : spans) {
    scope_spans.add_message(kSpans, write_span(span, to_unix));
  }
  scope_spans.commit();
  resource_spans.commit();
  return text;
}

}  // namespace limitree::server
