#include "trace/exporter.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <protozero/pbf_writer.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "io/loop.hpp"
#include "trace/http_post.hpp"
#include "trace/resource.hpp"

namespace limitree::server {

namespace {

// ---- Messages
// ------------------------------------------------------------------

using protozero::pbf_writer;

// The numbers of the fields, by their messages.
enum Status : protozero::pbf_tag_type { kStatusCode = 3 };
enum SpanField : protozero::pbf_tag_type {
  kTraceId = 1,
  kSpanId = 2,
  kParentId = 4,
  kSpanName = 5,
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

template <std::size_t kSize>
void add_id(protozero::pbf_tag_type tag,
            const std::array<std::uint8_t, kSize>& id, pbf_writer* span) {
  span->add_bytes(tag, reinterpret_cast<const char*>(id.data()), kSize);
}

}  // namespace

// Writes opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest.
class OtlpWriter {
 public:
  // `operations` are paths of gRPC such as "/grpc.health.v1.Health/Check", and
  // of HTTP such as "POST /v1/authorize", where the method _OTHER stands for
  // methods without their own operation.  The number of an operation is its
  // index.
  OtlpWriter(std::string resource, const std::vector<std::string>& operations);

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

OtlpWriter::OtlpWriter(std::string resource,
                       const std::vector<std::string>& operations)
    : resource_(std::move(resource)) {
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
  writer.add_string(kSpanName, operation.name);
  writer.add_enum(kKind, kServer);
  const auto unix_ns = [&](Monotonic at) {
    return static_cast<std::uint64_t>(
        (at.time_since_epoch() + to_unix).count());
  };
  writer.add_fixed64(kStart, unix_ns(span.begun));
  writer.add_fixed64(kEnd, unix_ns(span.ended));
  text += operation.attributes;
  if (!operation.is_http) {
    add_attribute(kAttributes, "rpc.grpc.status_code", span.status, &text);
  } else if (span.status != 0) {
    add_attribute(kAttributes, "http.response.status_code", span.status, &text);
  }
  if (operation.is_http ? is_http_fault(span.status)
                        : is_grpc_fault(span.status)) {
    pbf_writer status(writer, kStatus);
    status.add_enum(kStatusCode, kErrorCode);
  }
  return text;
}

std::string OtlpWriter::write(std::span<const Span> spans,
                              Duration to_unix) const {
  std::string all;
  pbf_writer writer(all);
  for (const Span& span : spans) {
    writer.add_message(kOfSignal, write_span(span, to_unix));
  }
  return signal_message(resource_, all);
}

// ---- The thread
// ----------------------------------------------------------------

constexpr std::size_t kMaxBatch = 512;
constexpr Duration kInterval = kOneSecond;
constexpr Duration kMaxBackoff = 30 * kOneSecond;
constexpr int kMaxAttempts = 6;  // for a batch

// Add this to steady_now() to get the time since 1970.
Duration to_unix() {
  return std::chrono::system_clock::now().time_since_epoch() -
         steady_now().time_since_epoch();
}

// The data of the thread.
class SpanExporter::Work {
 public:
  Work(const TraceSettings& from, std::string sender, Say say)
      : settings(from),
        resource(std::move(sender)),
        sender_(from, "spans", std::move(say)) {
    batch_.reserve(kMaxBatch);
  }

  void run(Background::Signal& signal) {
    while (signal.wait_until(after(steady_now(), kInterval))) {
      if (steady_now() < next_attempt_) continue;
      while (collect() && send(signal) && !signal.is_ending()) {
      }
    }
    while (collect() && send(signal)) {
    }
  }

  std::uint64_t lost() const {
    std::uint64_t sum = lost_;
    for (const auto& tracer : tracers) sum += tracer->lost();
    return sum;
  }

  const TraceSettings settings;
  const std::string resource;
  // Set before the thread starts.
  std::vector<std::shared_ptr<Tracer>> tracers;
  std::optional<OtlpWriter> writer;

 private:
  // Whether there is anything to send.
  bool collect() {
    Span span;
    for (const std::shared_ptr<Tracer>& tracer : tracers) {
      while (batch_.size() < kMaxBatch && tracer->queue()->take(&span)) {
        batch_.push_back(span);
      }
    }
    return !batch_.empty();
  }

  bool send(Background::Signal& signal) {
    const PostResult result = sender_.send(
        [this] { return writer->write(batch_, to_unix()); }, &signal);
    if (result.done) {
      attempts_ = 0;
      pause_ = Duration::zero();
      batch_.clear();
      return true;
    }
    pause_ = std::clamp(2 * pause_, kOneSecond, kMaxBackoff);
    next_attempt_ = after(steady_now(), pause_);
    if (!result.again || ++attempts_ == kMaxAttempts) {
      lost_ += batch_.size();
      attempts_ = 0;
      batch_.clear();
    }
    return false;
  }

  SignalSender sender_;
  std::vector<Span> batch_;
  int attempts_ = 0;
  Duration pause_{};
  Monotonic next_attempt_{};
  std::atomic<std::uint64_t> lost_{0};
};

SpanExporter::SpanExporter(const TraceSettings& settings, std::string resource,
                           std::function<void(const std::string&)> say)
    : work_(std::make_shared<Work>(settings, std::move(resource),
                                   std::move(say))) {}

SpanExporter::~SpanExporter() = default;

std::shared_ptr<Tracer> SpanExporter::make_tracer() {
  work_->tracers.push_back(
      std::make_shared<Tracer>(work_->settings.sampling_rate, [this] {
        if (thread_ != nullptr) thread_->wake();
      }));
  return work_->tracers.back();
}

void SpanExporter::start(const std::vector<std::string>& operations) {
  work_->writer.emplace(work_->resource, operations);
  thread_ = std::make_unique<Background>(
      [work = work_](Background::Signal& signal) { work->run(signal); });
}

std::uint64_t SpanExporter::lost() const { return work_->lost(); }

}  // namespace limitree::server
