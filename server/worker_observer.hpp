// What a worker counts of its calls, and traces of calls and exchanges.

#ifndef LIMITREE_SERVER_WORKER_OBSERVER_HPP
#define LIMITREE_SERVER_WORKER_OBSERVER_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grpc/call_observer.hpp"
#include "http/exchange.hpp"
#include "stats/worker_stats.hpp"
#include "trace/tracer.hpp"

namespace limitree::server {

class WorkerObserver final : public CallObserver, public ExchangeObserver {
 public:
  // Without a tracer nothing is traced.
  WorkerObserver(Loop* loop, std::shared_ptr<Tracer> tracer)
      : loop_(loop), tracer_(std::move(tracer)) {}

  // Before the first call.  `paths` are those of all methods.  Spans number
  // the operations of HTTP after them.
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

  bool wants_trace() const override { return tracer_ != nullptr; }

  void on_over(const CallReport& report) override {
    stats_->answered(report.method, report.begun);
    if (tracer_ == nullptr) return;
    Span span{};
    span.begun = report.begun;
    span.operation = static_cast<std::uint16_t>(report.method);
    span.status = static_cast<std::uint16_t>(report.code);
    record(report.trace, span);
  }

  // REQUIRES: wants_trace().
  void on_over(const ExchangeReport& report) override {
    TraceFields trace;
    report.request.each_field(
        [&trace](std::string_view name, std::string_view value) {
          trace.take(name, value);
        });
    Span span{};
    span.begun = report.begun;
    span.operation =
        static_cast<std::uint16_t>(method_count_ + report.operation);
    span.status = static_cast<std::uint16_t>(report.status);
    record(trace, span);
  }

 private:
  void record(const TraceFields& trace, Span span) {
    span.ended = steady_now();
    tracer_->record(trace.context(), span);
  }

  Loop* loop_;
  std::shared_ptr<Tracer> tracer_;
  std::unique_ptr<WorkerStats> stats_;
  std::size_t method_count_ = 0;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_WORKER_OBSERVER_HPP
