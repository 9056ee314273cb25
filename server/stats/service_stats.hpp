// The statistics of the workers and of the whole service.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "io/loop.hpp"
#include "stats/histogram.hpp"
#include "stats/snapshot.hpp"

namespace limitree::server {

// What one worker counts.  Belongs to the thread of its loop, except add_to().
//
// The time of a request is from the beginning of the turn in which it came to
// the end of the turn in which it was answered.  So the clock is read once for
// all answers of a turn, and the loop reads it anyway.
class WorkerStats final : public AtTurnEnd {
 public:
  // `methods` are the names of methods, such as "ShouldRateLimit"; a method's
  // place among them is its number.
  WorkerStats(Loop* loop, const std::vector<std::string>& methods);
  ~WorkerStats();
  WorkerStats(const WorkerStats&) = delete;
  WorkerStats& operator=(const WorkerStats&) = delete;

  // Counts the answer to a request that came in the turn that began at `begun`.
  void answered(std::size_t method, Monotonic begun) {
    if (!answers_.empty() && answers_.back().method == method &&
        answers_.back().begun == begun) {
      ++answers_.back().count;
      return;
    }
    answers_.push_back({method, begun, 1});
    loop_->at_turn_end(this);
  }

  void on_turn_end() override;

  // Adds all counters.  From any thread.
  void add_to(Snapshot* snapshot) const;

 private:
  struct MethodStats {
    std::string name;
    Histogram times;
  };

  // Answers of this turn to requests of one method that came in one turn.
  struct Answers {
    std::size_t method;
    Monotonic begun;
    std::uint64_t count;
  };

  Loop* loop_;
  std::vector<MethodStats> methods_;
  std::vector<Answers> answers_;
};

// The statistics of the whole service.
class ServiceStats {
 public:
  // `read_limiter` reads what the limiter has counted, from any thread.
  explicit ServiceStats(std::function<Snapshot()> read_limiter)
      : read_limiter_(std::move(read_limiter)) {}
  ServiceStats(const ServiceStats&) = delete;
  ServiceStats& operator=(const ServiceStats&) = delete;

  // Call this before the first snapshot.  `worker` must outlive the last one.
  void add_worker(const WorkerStats* worker) { workers_.push_back(worker); }

  // Adds another counter; `read` is called from any thread.  Call this before
  // the first snapshot.
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
  const std::function<Snapshot()> read_limiter_;
  std::vector<const WorkerStats*> workers_;
  std::vector<std::pair<std::string, std::function<std::uint64_t()>>> losses_;
  std::atomic<std::uint64_t> loads_{0};
  std::atomic<std::uint64_t> refusals_{0};
};

}  // namespace limitree::server
