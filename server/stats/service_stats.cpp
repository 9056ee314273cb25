#include "stats/service_stats.hpp"

namespace limitree::server {

WorkerStats::WorkerStats(Loop* loop, const std::vector<std::string>& methods)
    : loop_(loop), methods_(methods.size()) {
  for (std::size_t i = 0; i < methods.size(); ++i) {
    methods_[i].name = methods[i];
  }
}

WorkerStats::~WorkerStats() { loop_->forget(this); }

void WorkerStats::on_turn_end() {
  const Monotonic now = loop_->turn_end();
  for (const Answers& one : answers_) {
    methods_[one.method].times.add(now - one.begun, one.count);
  }
  answers_.clear();
}

void WorkerStats::add_to(Snapshot* snapshot) const {
  for (const MethodStats& one : methods_) {
    snapshot->methods[one.name] += one.times.get();
  }
}

Snapshot ServiceStats::snapshot() const {
  Snapshot snapshot = read_limiter_();
  for (const WorkerStats* const worker : workers_) worker->add_to(&snapshot);
  snapshot.at(ServiceCounter::kConfigLoadSuccess) = loads_;
  snapshot.at(ServiceCounter::kConfigLoadError) = refusals_;
  for (const auto& [name, read] : losses_) snapshot.losses[name] = read();
  return snapshot;
}

}  // namespace limitree::server
