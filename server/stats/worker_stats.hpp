// What one worker counts.

#ifndef LIMITREE_SERVER_STATS_WORKER_STATS_HPP
#define LIMITREE_SERVER_STATS_WORKER_STATS_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "net/loop.hpp"
#include "stats/histogram.hpp"
#include "stats/snapshot.hpp"

namespace limitree::server {

// Belongs to the thread of its loop, except add_to().
//
// A request takes from the beginning of the turn in which it came to the end of
// the turn in which it was answered.  So the clock is read once for all answers
// of a turn, and a request costs a few nanoseconds.
class WorkerStats final : public AtTurnEnd {
 public:
  // `methods` are the names of methods, such as "ShouldRateLimit"; a method's
  // place among them is its number.
  WorkerStats(Loop* loop, const std::vector<std::string>& methods);
  ~WorkerStats();
  WorkerStats(const WorkerStats&) = delete;
  WorkerStats& operator=(const WorkerStats&) = delete;

  // A request was answered, which came in the turn that began at `begun`.
  void answered(std::size_t method, Instant begun) {
    if (begun == loop_->now()) {
      ++methods_[method].fresh;
    } else {
      older_.push_back({method, begun});
    }
    loop_->at_turn_end(this);
  }

  void on_turn_end() override;

  // Adds all counters.  From any thread.
  void add_to(Snapshot* snapshot) const;

 private:
  struct Older {
    std::size_t method;
    Instant begun;
  };

  struct MethodStats {
    std::string name;
    std::uint64_t fresh = 0;  // answered in the turn they came in
    Histogram times;
  };

  Loop* loop_;
  std::vector<MethodStats> methods_;
  std::vector<Older> older_;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_STATS_WORKER_STATS_HPP
