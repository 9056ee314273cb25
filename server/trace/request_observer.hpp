// Counts and traces the requests of a worker.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stats/service_stats.hpp"
#include "trace/context.hpp"
#include "trace/tracer.hpp"

namespace limitree::server {

// Belongs to the thread of one loop.
class RequestObserver {
 public:
  // Without a tracer nothing is traced.
  RequestObserver(Loop* loop, std::shared_ptr<Tracer> tracer)
      : loop_(loop), tracer_(std::move(tracer)) {}

  // Call this before the first request.  `paths` are those of all methods.
  // Spans number the operations of HTTP after them.
  void set_methods(const std::vector<std::string>& paths) {
    std::vector<std::string> names;
    names.reserve(paths.size());
    for (const std::string& path : paths) {
      names.push_back(path.substr(path.rfind('/') + 1));
    }
    method_count_ = names.size();
    stats_ = std::make_unique<WorkerStats>(loop_, names);
  }
  const WorkerStats* stats() const { return stats_.get(); }

  // Whether requests have to collect their TraceFields.
  bool wants_trace() const { return tracer_ != nullptr; }

  // A unary call is over that method number `method` has handled.  `begun` is
  // the turn in which its header came, `code` that of gRPC; CANCELLED if the
  // client did not wait.
  void call_over(std::size_t method, Monotonic begun, int code,
                 const TraceFields& trace) {
    stats_->answered(method, begun);
    if (wants_trace()) record(method, begun, code, trace);
  }

  // A request of HTTP is over that a handler has received.  `status` is 0 if
  // the client did not wait.
  // REQUIRES: wants_trace().
  void exchange_over(std::size_t operation, Monotonic begun, int status,
                     const TraceFields& trace) {
    record(method_count_ + operation, begun, status, trace);
  }

 private:
  void record(std::size_t operation, Monotonic begun, int status,
              const TraceFields& trace) {
    Span span{};
    span.begun = begun;
    span.ended = steady_now();
    span.operation = static_cast<std::uint16_t>(operation);
    span.status = static_cast<std::uint16_t>(status);
    tracer_->record(trace.context(), span);
  }

  Loop* loop_;
  std::shared_ptr<Tracer> tracer_;
  std::unique_ptr<WorkerStats> stats_;
  std::size_t method_count_ = 0;
};

}  // namespace limitree::server
