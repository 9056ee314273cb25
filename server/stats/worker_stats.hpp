// What one worker counts.

#ifndef LIMITREE_SERVER_STATS_WORKER_STATS_HPP
#define LIMITREE_SERVER_STATS_WORKER_STATS_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "io/loop.hpp"
#include "stats/histogram.hpp"
#include "stats/snapshot.hpp"

namespace limitree::server {

// Belongs to the thread of its loop, except add_to().
//
// A request takes from the beginning of the turn in which it came to the end of
// the turn in which it was answered.  So all answers of a turn need one reading
// of the clock, which the loop needs anyway.
class WorkerStats final : public AtTurnEnd {
 public:
  // `methods` are the names of methods, such as "ShouldRateLimit"; a method's
  // place among them is its number.
  WorkerStats(Loop* loop, const std::vector<std::string>& methods);
  ~WorkerStats();
  WorkerStats(const WorkerStats&) = delete;
  WorkerStats& operator=(const WorkerStats&) = delete;

  // A request was answered, which came in the turn that began at `begun`.
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

  // Of this turn, to requests of one method that came in one turn.
  struct Answers {
    std::size_t method;
    Monotonic begun;
    std::uint64_t count;
  };

  Loop* loop_;
  std::vector<MethodStats> methods_;
  std::vector<Answers> answers_;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_STATS_WORKER_STATS_HPP
