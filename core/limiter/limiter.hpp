// Puts the parts together: paths in, decision out.
//
//   paths -> Tree::match -> Plan -> Store::decide -> aggregate -> Decision
//
// Every member function may be called from any thread.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/decision.hpp"
#include "base/inline_vector.hpp"
#include "base/status.hpp"
#include "descriptors/answer.hpp"
#include "descriptors/descriptors.hpp"
#include "descriptors/request.hpp"
#include "limiter/costs.hpp"
#include "limiter/hit_metrics.hpp"
#include "limiter/hold_ids.hpp"
#include "limiter/metrics.hpp"
#include "limiter/options.hpp"
#include "limiter/retry_spread.hpp"
#include "store/decorators/over_cache.hpp"
#include "store/fork_guard.hpp"
#include "store/store.hpp"
#include "tree/tree.hpp"

namespace limitree {

// The verdict of one level, for callers that need more than the decision.
struct LevelReport {
  std::string_view policy;  // lives as long as the limiter
  std::string_view unit;    // the same; never empty
  std::int64_t capacity;
  Duration window;  // see window_of()
  Mode mode;        // in this request; kShadow for kIdle
  std::int64_t cost;
  std::uint32_t path;  // which of the paths met it first; from 0
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

struct MetricStats {
  std::string_view key;  // lives as long as the limiter
  HitTally tally;
};

struct EnvoyStats {
  EnvoyTotals totals;
  OverCache::Stats over_cache;
  std::int64_t metric_keys = 0;
};

// Where the answer to a request is written.
struct Answer {
  LevelReports* reports = nullptr;  // null: not wanted
  Decision decision;
};

// Which top-level names Limiter::put() may replace.
enum class Replace : std::uint8_t {
  kNone,
  kAny,
  kAdded,  // those that put() has added
};

// Which buckets a reset forgets.
enum class Forget : std::uint8_t {
  kPath,   // of all levels on the path, but for those that count denials
  kLeaf,   // the same, of the deepest node that has any levels
  kBlock,  // those that count denials, of the deepest node that has a block
};

// Gets the outcome of a pending request.
class Listener {
 public:
  // The loop that reports the outcome, from Limiter::new_loop().
  StoreLoop* loop() const { return loop_; }

  // Called exactly once, from run() or the destructor of loop().  Unless
  // `status` is ok, decision and reports are empty.
  virtual void decided(Status status, const Decision& decision,
                       const LevelReports& reports) noexcept = 0;

  // The same for a request of Envoy.  May take the metadata of *answer.
  virtual void answered(Status /*status*/, EnvoyAnswer* /*answer*/) noexcept {}

 protected:
  explicit Listener(StoreLoop* loop) : loop_(loop) {}
  ~Listener() = default;

 private:
  StoreLoop* const loop_;
};

class Limiter final : private ForkGuard {
 public:
  // `store` usually comes from make_store() with the same options.  Without
  // `descriptors` there are no domains.
  Limiter(std::shared_ptr<const Tree> tree, const Options& options,
          std::unique_ptr<Store> store,
          std::shared_ptr<const Descriptors> descriptors = nullptr);
  ~Limiter() { unwatch_forks(); }

  // Carries out `operation` on the union of the levels of all paths, as one
  // indivisible step.  A bucket that is reached twice is one level, with the
  // larger cost and both parts.  `reports`, which may be null, gets a report of
  // each level.  Fails as Tree::match() and Store::decide() do, and with
  // kInvalidArgument for more than kMaxPaths paths or kMaxLevels levels, if a
  // limit counts a unit that `costs` does not name, for a unit that no limit of
  // the tree counts, and for a kAuthorize or kSpend that meets a limit of what
  // is held at once.
  Status decide(Operation operation, const Costs& costs, LevelReports* reports,
                Decision* decision);

  // The same for one path, without reports, in less time.
  // REQUIRES: operation <= kLook.
  Status decide(Operation operation, Path path, std::int64_t cost,
                Decision* decision);

  // A new id for a kReserve.
  HoldId new_hold_id() { return hold_ids_.next(); }

  // A loop for pending requests, which must be destroyed before the limiter;
  // null if nothing is ever pending.
  std::unique_ptr<StoreLoop> new_loop() { return store_->new_loop(); }

  // decide() without waiting.  Returns true if it is done, with the outcome in
  // *status.  Returns false if it is pending: `costs` has been copied,
  // `answer` is not needed any more, and `listener`, which must live until
  // then, gets the outcome.
  bool decide_async(Operation operation, const Costs& costs, Answer* answer,
                    Listener* listener, Status* status);

  // Answers a request of Envoy, by its purpose, which is not a reset: see
  // RuleHits and Answer.  Fails as MatchedRequest::match() and Store::decide()
  // do.
  Status should_rate_limit(const DescriptorRequest& request,
                           EnvoyAnswer* answer);

  // The same without waiting, as decide_async().
  bool should_rate_limit_async(const DescriptorRequest& request,
                               EnvoyAnswer* answer, Listener* listener,
                               Status* status);

  // Whether a decision may wait for another machine.
  bool is_remote() const { return remote_; }

  // Whether a decision may wait: see Store::may_wait().
  bool may_wait() const { return may_wait_; }

  // Whether other processes can share its buckets, and the store can fail.
  bool is_shared() const { return store_->is_shared(); }

  // Forgets buckets along the path.  With kBlock, fails as block() does.
  Status reset(Path path, Forget which);

  // reset() without waiting, as decide_async().  The decision that `listener`
  // gets is empty.
  bool reset_async(Path path, Forget which, Listener* listener, Status* status);

  // Denies every request that meets the deepest block of the path, from now on
  // until `time` is over, whatever was said before. kInvalidArgument if there
  // is none, or for a time that no bucket holds; kStoreUnavailable unless the
  // store knows of it.
  Status block(Path path, Duration time);

  // The same without waiting, as reset_async().
  bool block_async(Path path, Duration time, Listener* listener,
                   Status* status);

  // Forgets the buckets that the request would reach, whatever its purpose, and
  // what is held there.  Fails as MatchedRequest::match() and Store::reset()
  // do.
  Status reset(const DescriptorRequest& request);
  bool reset_async(const DescriptorRequest& request, Listener* listener,
                   Status* status);

  // Replaces the tree, except for names that put() has added: they stay.
  // Replaces the descriptors in the same step, unless `descriptors` is null.
  // Running requests finish with the tree and descriptors that they began with.
  // kInvalidConfig, with nothing changed, if `tree` has one of these names.
  Status reload(const Tree& tree,
                std::shared_ptr<const Descriptors> descriptors = nullptr);

  // The same for the descriptors alone.
  void reload(std::shared_ptr<const Descriptors> descriptors);

  // The current descriptors; a later reload does not change them.
  std::shared_ptr<const Descriptors> descriptors();

  // Adds a top-level name from load_root(), or replaces the one of that name;
  // kInvalidConfig if that is not allowed.  The other names are not read again.
  // kOutOfMemory if all names that were put, and what stays of those that are
  // gone, would take more than `max_bytes`.
  Status put(std::shared_ptr<Nodes> root, Replace may_replace,
             std::size_t max_bytes = SIZE_MAX);

  // Removes a top-level name that put() has added; kUnknownRoot if it has not.
  Status remove(std::string_view name);

  // How busy this process is, from 0 to kFullPressure, its initial value: an
  // overrun with `when: idle` is scaled by the rest.
  void set_pressure(std::int32_t pressure) {
    pressure_.store(pressure, std::memory_order_relaxed);
  }

  // Checks that the store answers.
  Status ping();

  // See Store::reply().
  bool reply(std::uint64_t token, const ClientReply& reply) {
    return store_->reply(token, reply);
  }

  // See Store::file().
  std::optional<StoreFile> store_file() { return store_->file(); }

  std::string describe();
  // What Tree::explain() says and, unless the store is remote, list_holds().
  Result<std::string> explain(Path path);
  // What is held on the levels of `path` and until when, for people; empty if
  // nothing is held.
  Result<std::string> list_holds(Path path);
  LimiterStats stats();
  std::vector<PolicyStats> policy_stats();
  std::vector<MetricStats> metric_stats();
  EnvoyStats envoy_stats();

 private:
  // Descriptors and, by the index of a rule: its metric, or null if that
  // depends on the request; its name, which lives as long as the limiter; and
  // its limit under on_store_error local, if that differs.
  struct LoadedRules {
    std::shared_ptr<const Descriptors> descriptors;
    std::vector<HitMetric*> metrics;
    std::vector<std::string_view> names;
    std::vector<Limit> local_limits;
  };

  // All that a reload replaces.  A tree and, by Limit::index, the policies of
  // its limits and their replacements under on_store_error local, if those
  // differ; and the descriptors.
  struct Snapshot : std::enable_shared_from_this<Snapshot> {
    Policy* policy(const Level& level) const {
      return policies[level.limit->index];
    }

    std::string_view unit(const Level& level) const {
      const std::string_view own = level.limit->unit.view();
      return own.empty() ? kRequestUnit : units.find(own)->first;
    }

    std::shared_ptr<const Tree> tree;
    std::vector<Policy*> policies;
    std::vector<Limit> local_limits;
    UnitCounts units;          // but kRequestUnit
    bool has_rules = false;    // some limits are not plain
    bool has_holds = false;    // some can hold units
    bool has_slots = false;    // some are Algorithm::kConcurrent
    bool has_denials = false;  // some count denials
    bool walk_is_all = true;   // no units, slots, denials, local_limits, shadow
    std::shared_ptr<const LoadedRules> rules;  // never null
  };
  class Reader;
  class Request;
  class EnvoyRequest;
  class PendingEnvoyRequest;
  class PendingEnvoyReset;

  Status match(const Snapshot& snapshot, const Costs& costs, Plan* plan) const;
  Status match_one(const Snapshot& snapshot, Path path, std::int64_t cost,
                   Plan* plan) const;
  template <typename Match>
  Status decide_matched(Operation operation, Match match_levels,
                        LevelReports* reports, Decision* decision);
  Status match_reset(const Snapshot& snapshot, Path path, Forget which,
                     Plan* plan) const;
  Status match_block(const Snapshot& snapshot, Path path, Plan* plan) const;
  Status match_block(const Snapshot& snapshot, Path path, Duration time,
                     Limit* limit, Plan* plan) const;
  Status match_reset(const LoadedRules& rules, const DescriptorRequest& request,
                     MatchedRequest* matched, Plan* plan) const;
  // kStoreUnavailable if something else has decided *plan in place of the
  // store: then no other process knows of the block.
  static Status known_to_store(const Plan& plan);
  void forget(const Plan& plan);
  std::string about_modes() const;
  // Asks a store that may wait.  The reader holds no stripe while it does.
  Status decide(Plan* plan, Reader* reader);
  std::shared_ptr<const Snapshot> current();
  void record(const Snapshot& snapshot, const Plan& plan,
              const Decision& decision, Stripe* stripe);
  void record(const Snapshot& snapshot, const Plan& plan,
              const Decision& decision);
  void count_error();
  static void report(const Snapshot& snapshot, const Plan& plan,
                     LevelReports* reports);
  static void count_held(const Plan& plan, Decision* decision);
  std::shared_ptr<Snapshot> snapshot_of(
      std::shared_ptr<const Tree> tree,
      std::shared_ptr<const LoadedRules> rules);
  void add_limits(std::span<const Limit> limits, Snapshot* snapshot);
  static void forget_units(std::span<const Limit> limits, Snapshot* snapshot);
  std::size_t lasting_bytes_of(std::span<const Limit> limits) const;
  std::shared_ptr<const LoadedRules> rules_of(
      std::shared_ptr<const Descriptors> descriptors);
  void replace(std::shared_ptr<const Snapshot> snapshot);
  void before_fork() override;
  void after_fork() override;
  void after_fork_in_child() override;

  const std::unique_ptr<Store> store_;
  const bool remote_;
  const bool may_wait_;
  const Share local_share_;
  const Share near_limit_;
  const AnswerModes answer_modes_;  // shadow_mode is for the tree, too
  const Stop stop_increment_;
  const Clock clock_;
  RetrySpread retry_spread_;
  const std::unique_ptr<OverCache> over_cache_;  // may be null
  std::atomic<std::int32_t> pressure_{kFullPressure};
  HoldIds hold_ids_;
  Stripes stripes_;
  std::mutex reload_mutex_;  // taken before any stripe
  Policies policies_;        // guarded by reload_mutex_
  HitMetrics metrics_;
  std::set<std::string, std::less<>> rule_names_;  // guarded by reload_mutex_
  std::set<std::string, std::less<>> unit_names_;  // the same
  std::size_t lasting_bytes_ = 0;  // that put() has added to these; the same
  std::int64_t reloads_ = 0;       // guarded by reload_mutex_
  std::shared_ptr<const Snapshot> owner_;  // of *snapshot_; the same
  std::atomic<const Snapshot*> snapshot_;  // read while a stripe is held
};

// Holds a stripe, and so the snapshot that is current now.
class Limiter::Reader {
 public:
  explicit Reader(Limiter* limiter)
      : limiter_(*limiter),
        stripe_(&limiter->stripes_.acquire()),
        snapshot_(*limiter->snapshot_.load(std::memory_order_acquire)) {}
  ~Reader() {
    if (stripe_ != nullptr) stripe_->unlock();
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  const Snapshot& snapshot() const { return snapshot_; }

  // Gives the stripe back before work that may take long, and keeps the
  // snapshot.
  void release() {
    if (stripe_ == nullptr) return;
    kept_ = snapshot_.shared_from_this();
    std::exchange(stripe_, nullptr)->unlock();
  }

  // Takes one again, if it was given back.
  Stripe& stripe() {
    if (stripe_ == nullptr) stripe_ = &limiter_.stripes_.acquire();
    return *stripe_;
  }

 private:
  Limiter& limiter_;
  Stripe* stripe_;
  const Snapshot& snapshot_;
  std::shared_ptr<const Snapshot> kept_;
};

}  // namespace limitree
