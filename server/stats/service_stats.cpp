#include "stats/service_stats.hpp"

namespace limitree::server {

Snapshot ServiceStats::snapshot() const {
  Snapshot snapshot;
  snapshot.add(read_limiter_());
  for (const WorkerStats* const worker : workers_) worker->add_to(&snapshot);
  snapshot.at(ServiceCounter::kConfigLoadSuccess) = loads_;
  snapshot.at(ServiceCounter::kConfigLoadError) = refusals_;
  for (const auto& [name, read] : losses_) snapshot.losses[name] = read();
  return snapshot;
}

}  // namespace limitree::server
