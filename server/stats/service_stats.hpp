// The statistics of the whole service.

#ifndef LIMITREE_SERVER_STATS_SERVICE_STATS_HPP
#define LIMITREE_SERVER_STATS_SERVICE_STATS_HPP

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "stats/snapshot.hpp"
#include "stats/worker_stats.hpp"

namespace limitree::server {

// Reads what the limiter has counted.  Called from any thread.
using ReadLimiter = std::function<LimiterCounts()>;

class ServiceStats {
 public:
  explicit ServiceStats(ReadLimiter read_limiter)
      : read_limiter_(std::move(read_limiter)) {}
  ServiceStats(const ServiceStats&) = delete;
  ServiceStats& operator=(const ServiceStats&) = delete;

  // Before anybody asks for a snapshot.  `worker` stays as long as that may be.
  void add_worker(const WorkerStats* worker) { workers_.push_back(worker); }

  // Another counter: `read` is called from any thread.  Before anybody asks for
  // a snapshot.
  void add_loss(std::string name, std::function<std::uint64_t()> read) {
    losses_.emplace_back(std::move(name), std::move(read));
  }

  // Limits were read again, or refused.  From any thread.
  void loaded(bool is_valid) {
    (is_valid ? loads_ : refusals_).fetch_add(1, std::memory_order_relaxed);
  }

  // From any thread.
  Snapshot snapshot() const;

 private:
  const ReadLimiter read_limiter_;
  std::vector<const WorkerStats*> workers_;
  std::vector<std::pair<std::string, std::function<std::uint64_t()>>> losses_;
  std::atomic<std::uint64_t> loads_{0};
  std::atomic<std::uint64_t> refusals_{0};
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_STATS_SERVICE_STATS_HPP
