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
  Part part = Part::kCharge;
};

// kInvalidArgument if these are too many for one request, for those who would
// copy them first.
Status check_path_count(std::size_t paths);

// What one level said, for callers that want to know more than the decision.
struct LevelReport {
  std::string_view policy;  // lives as long as the limiter
  std::int64_t capacity;
  Duration window;  // see window_of()
  Mode mode;        // in this request; kShadow for kIdle
  std::int64_t cost;
  std::uint32_t path;  // which of the asks met it first; from 0
  Verdict verdict;
  Duration grows_after;
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

// Where the answer to a request goes.
struct Answer {
  LevelReports* reports = nullptr;  // null: not wanted
  Decision decision;
};

// Told what became of a request that was pending.
class Listener {
 public:
  // Called exactly once, from within Limiter::loop_run() or ~Limiter().  Unless
  // `status` is ok, decision and reports are those of no request.
  virtual void decided(Status status, const Decision& decision,
                       const LevelReports& reports) noexcept = 0;

 protected:
  ~Listener() = default;
};

class Limiter final : private ForkGuard {
 public:
  // `store` is mostly what make_store() makes of the same options.
  Limiter(std::shared_ptr<const Tree> tree, const Options& options,
          std::unique_ptr<Store> store);
  ~Limiter();

  // Carries out `operation` on the union of the levels of all asks, as one
  // indivisible step.  A bucket that is reached twice is one level, with the
  // larger cost and both parts.  `reports`, which may be null, takes a report
  // of each level. Fails as Tree::match() and Store::decide() do, and with
  // kInvalidArgument for more than kMaxPaths asks or kMaxLevels levels.
  Status decide(Operation operation, std::span<const Ask> asks,
                LevelReports* reports, Decision* decision);

  // The same without waiting.  True: it is done, as decide() would have, and
  // *status says how.  False: what `asks` shows has been copied, `answer` is
  // needed no more, and `listener`, which has to live until then, will be told.
  bool decide_async(Operation operation, std::span<const Ask> asks,
                    Answer* answer, Listener* listener, Status* status);

  // Whether a decision may take longer than a look into memory.
  bool is_remote() const { return remote_; }

  // What an event loop has to watch for reading, and then to call, on one
  // thread at a time; -1 if this store never has anything pending.
  int loop_fd() { return store_->loop_fd(); }
  void loop_run() { store_->loop_run(); }
  void set_loop_wakeups(bool on) { store_->set_loop_wakeups(on); }

  // Forgets the buckets of every level on the path, or of the deepest node
  // alone that has any.
  Status reset(Path path, bool leaf_only);

  // Swaps the tree.  Requests that run finish on the old one.
  void reload(std::shared_ptr<const Tree> tree);

  // How busy this process is, from 0 to kFullPressure: what an overrun `when:
  // idle` adds is scaled by the rest.  It begins at kFullPressure.
  void set_pressure(std::int32_t pressure) {
    pressure_.store(pressure, std::memory_order_relaxed);
  }

  // Asks the store whether it is there.
  Status ping();

  std::string describe();
  Result<std::string> explain(Path path);
  LimiterStats stats();
  std::vector<PolicyStats> policy_stats();

 private:
  // A tree, and by Limit::index the policies of its limits and what takes
  // their place under on_store_error local; nothing if that is the same.
  struct Snapshot : std::enable_shared_from_this<Snapshot> {
    Policy* policy(const Level& level) const {
      return policies[level.limit->index];
    }

    std::shared_ptr<const Tree> tree;
    std::vector<Policy*> policies;
    std::vector<Limit> local_limits;
    bool has_rules = false;  // not every limit is plain
  };
  class Reader;
  class Request;

  Status match(const Snapshot& snapshot, std::span<const Ask> asks,
               Plan* plan) const;
  Status decide_remotely(Operation operation, std::span<const Ask> asks,
                         LevelReports* reports, Decision* decision);
  std::shared_ptr<const Snapshot> current();
  void record(const Snapshot& snapshot, const Plan& plan,
              const Decision& decision, Lane* lane);
  void record(const Snapshot& snapshot, const Plan& plan,
              const Decision& decision);
  void count_error();
  static void report(const Snapshot& snapshot, const Plan& plan,
                     LevelReports* reports);
  std::shared_ptr<const Snapshot> snapshot_of(std::shared_ptr<const Tree> tree);
  void before_fork() override;
  void after_fork() override;

  std::unique_ptr<Store> store_;
  const bool remote_;
  const Share local_share_;
  std::atomic<std::int32_t> pressure_{kFullPressure};
  Lanes lanes_;
  std::mutex reload_mutex_;                // taken before any lane
  Policies policies_;                      // guarded by reload_mutex_
  std::int64_t reloads_ = 0;               // guarded by reload_mutex_
  std::shared_ptr<const Snapshot> owner_;  // of *snapshot_; likewise
  std::atomic<const Snapshot*> snapshot_;  // read while a lane is held
};

}  // namespace limitree

#endif  // LIMITREE_LIMITER_LIMITER_HPP
