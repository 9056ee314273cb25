// Ties it together: paths in, decision out.
//
//   paths -> Tree::match -> Plan -> Store::decide -> aggregate -> Decision
//
// Every member function may be called from any thread.

#ifndef LIMITREE_LIMITER_LIMITER_HPP
#define LIMITREE_LIMITER_LIMITER_HPP

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/decision.hpp"
#include "base/inline_vector.hpp"
#include "base/status.hpp"
#include "limiter/metrics.hpp"
#include "limiter/options.hpp"
#include "store/fork_guard.hpp"
#include "store/store.hpp"
#include "tree/tree.hpp"

namespace limitree {

// A path, and what is asked for along it.
struct Ask {
  Path path;
  std::int64_t cost = 1;
};

// What one level said, for callers that want to know more than the decision.
struct LevelReport {
  std::string_view policy;  // lives as long as the limiter
  Rate rate;
  Mode mode;
  std::int64_t cost;
  std::uint32_t path;  // which of the asks met it first; from 0
  Verdict verdict;
};

using LevelReports = InlineVector<LevelReport, 8>;

struct LimiterStats {
  Totals totals;
  StoreStats store;
  std::int64_t reloads = 0;
  std::int64_t limits = 0;  // in the tree
};

struct PolicyStats {
  std::string_view policy;  // lives as long as the limiter
  Tally tally;
};

class Limiter final : private ForkGuard {
 public:
  Limiter(std::shared_ptr<const Tree> tree, const Options& options);
  ~Limiter();

  // Carries out `operation` on the union of the levels of all asks, as one
  // indivisible step.  A bucket that is reached twice is one level, with the
  // larger cost.  `reports`, which may be null, takes a report of each level.
  // Fails as Tree::match() and Store::decide() do.
  Status decide(Operation operation, std::span<const Ask> asks,
                LevelReports* reports, Decision* decision);

  // Forgets the buckets of every level on the path, or of the deepest node
  // alone that has any.
  Status reset(Path path, bool leaf_only);

  // Swaps the tree.  Requests that run finish on the old one.
  void reload(std::shared_ptr<const Tree> tree);

  std::string describe();
  Result<std::string> explain(Path path);
  LimiterStats stats();
  std::vector<PolicyStats> policy_stats();

 private:
  // A tree, and the policies of its limits by Limit::index.
  struct Snapshot {
    std::shared_ptr<const Tree> tree;
    std::vector<Policy*> policies;
  };
  class Reader;

  std::shared_ptr<const Tree> tree();
  std::unique_ptr<const Snapshot> snapshot_of(std::shared_ptr<const Tree> tree);
  void before_fork() override;
  void after_fork() override;

  const std::unique_ptr<Store> store_;
  Lanes lanes_;
  std::mutex reload_mutex_;                // taken before any lane
  Policies policies_;                      // guarded by reload_mutex_
  std::int64_t reloads_ = 0;               // guarded by reload_mutex_
  std::atomic<const Snapshot*> snapshot_;  // read while a lane is held
};

}  // namespace limitree

#endif  // LIMITREE_LIMITER_LIMITER_HPP
