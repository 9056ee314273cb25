#include "stats/worker_stats.hpp"

#include <utility>

namespace limitree::server {

WorkerStats::WorkerStats(Loop* loop, const std::vector<std::string>& methods)
    : loop_(loop), methods_(methods.size()) {
  for (std::size_t i = 0; i < methods.size(); ++i) {
    methods_[i].name = methods[i];
  }
}

WorkerStats::~WorkerStats() { loop_->forget(this); }

void WorkerStats::on_turn_end() {
  const Instant now = steady_now();
  for (MethodStats& one : methods_) {
    if (one.fresh == 0) continue;
    one.times.add(now - loop_->now(), std::exchange(one.fresh, 0));
  }
  for (const Older& one : older_) {
    methods_[one.method].times.add(now - one.begun);
  }
  older_.clear();
}

void WorkerStats::add_to(Snapshot* snapshot) const {
  for (const MethodStats& one : methods_) {
    snapshot->methods[one.name] += one.times.get();
  }
}

}  // namespace limitree::server
