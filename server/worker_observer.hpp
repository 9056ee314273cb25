// What a worker counts and traces of its calls.

#ifndef LIMITREE_SERVER_WORKER_OBSERVER_HPP
#define LIMITREE_SERVER_WORKER_OBSERVER_HPP

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "grpc/call_observer.hpp"
#include "stats/worker_stats.hpp"
#include "trace/tracer.hpp"

namespace limitree::server {

class WorkerObserver final : public CallObserver {
 public:
  // Without a tracer nothing is traced.
  WorkerObserver(Loop* loop, std::shared_ptr<Tracer> tracer)
      : loop_(loop), tracer_(std::move(tracer)) {}

  // Before the first call.  `paths` are those of all methods.
  void set_methods(const std::vector<std::string>& paths) {
    std::vector<std::string> names;
    for (const std::string& path : paths) {
      names.push_back(path.substr(path.rfind('/') + 1));
    }
    stats_ = std::make_unique<WorkerStats>(loop_, names);
  }
  const WorkerStats* stats() const { return stats_.get(); }

  bool wants_trace() const override { return tracer_ != nullptr; }

  void on_over(const CallReport& report) override {
    stats_->answered(report.method, report.begun);
    if (tracer_ == nullptr) return;
    Span span{};
    span.begun = report.begun;
    span.ended = steady_now();
    span.method = static_cast<std::uint16_t>(report.method);
    span.status = static_cast<std::uint16_t>(report.code);
    tracer_->record(report.trace.context(), span);
  }

 private:
  Loop* loop_;
  std::shared_ptr<Tracer> tracer_;
  std::unique_ptr<WorkerStats> stats_;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_WORKER_OBSERVER_HPP
