#include "limiter/limiter.hpp"

#include <algorithm>

namespace limitree {

namespace {

// A segment of a path; hashing more would take longer than a caller can mean.
constexpr std::size_t kMaxPathBytes = std::size_t{1} << 26;

bool acceptable(const Ask& ask) {
  std::size_t longest = 0;
  for (const std::string_view segment : ask.path) {
    longest = std::max(longest, segment.size());
  }
  return ask.cost >= 0 && longest <= kMaxPathBytes;
}

// Why `ask` is not acceptable.
Status refuse(const Ask& ask) {
  if (ask.cost < 0) {
    return Status(Code::kInvalidArgument,
                  "cost must not be negative, is " + std::to_string(ask.cost));
  }
  return Status(
      Code::kInvalidArgument,
      "a segment has more than " + std::to_string(kMaxPathBytes) + " bytes");
}

Status match(const Tree& tree, std::span<const Ask> asks, Plan* plan) {
  for (std::size_t i = 0; i < asks.size(); ++i) {
    const std::size_t before = plan->levels.size();
    if (!acceptable(asks[i])) [[unlikely]]
      return refuse(asks[i]);
    if (Status status = tree.match(asks[i].path, asks[i].cost, plan);
        !status.ok()) {
      return status;
    }
    for (std::size_t k = before; k < plan->levels.size(); ++k) {
      plan->levels[k].path = static_cast<std::uint32_t>(i);
    }
  }
  return asks.size() > 1 ? join_same_buckets(plan) : Status();
}

}  // namespace

// Holds a lane, and with it the tree that is current now.
class Limiter::Reader {
 public:
  explicit Reader(Limiter* limiter)
      : lane_(limiter->lanes_.acquire()),
        snapshot_(*limiter->snapshot_.load(std::memory_order_acquire)) {}
  ~Reader() { lane_.lock.unlock(); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Lane& lane() { return lane_; }
  const Tree& tree() const { return *snapshot_.tree; }
  std::shared_ptr<const Tree> shared_tree() const { return snapshot_.tree; }
  Policy* policy(const Level& level) const {
    return snapshot_.policies[level.limit->index];
  }

 private:
  Lane& lane_;
  const Snapshot& snapshot_;
};

Limiter::Limiter(std::shared_ptr<const Tree> tree, const Options& options)
    : store_(new MemoryStore(options.max_buckets, options.clock)),
      snapshot_(snapshot_of(std::move(tree)).release()) {
  watch_forks();
}

Limiter::~Limiter() {
  unwatch_forks();
  delete snapshot_.load();
}

std::unique_ptr<const Limiter::Snapshot> Limiter::snapshot_of(
    std::shared_ptr<const Tree> tree) {
  auto snapshot = std::make_unique<Snapshot>();
  for (const Limit& limit : tree->limits()) {
    snapshot->policies.push_back(policies_.intern(limit.policy));
  }
  snapshot->tree = std::move(tree);
  return snapshot;
}

Status Limiter::decide(Operation operation, std::span<const Ask> asks,
                       LevelReports* reports, Decision* decision) {
  Reader reader(this);
  Plan plan(operation);
  Status status = match(reader.tree(), asks, &plan);
  // Room for the reports now: once the store has charged, nothing may fail.
  if (reports != nullptr) reports->resize(plan.levels.size());
  if (status.ok() && !plan.levels.empty()) status = store_->decide(&plan);
  if (!status.ok()) {
    reader.lane().count_error();
    return status;
  }

  aggregate(plan, decision);
  if (operation == Operation::kAuthorize) {
    reader.lane().count(*decision);
    for (const Level& level : plan.levels) {
      reader.lane().count(reader.policy(level), level, !decision->limited);
    }
  }
  for (std::size_t i = 0; reports != nullptr && i < reports->size(); ++i) {
    const Level& level = plan.levels[i];
    (*reports)[i] = {reader.policy(level)->name(),
                     level.limit->rate,
                     level.limit->mode,
                     level.cost,
                     level.path,
                     level.verdict};
  }
  return {};
}

Status Limiter::reset(Path path, bool leaf_only) {
  Reader reader(this);
  Plan plan(Operation::kRefund);
  const Ask ask{path, 0};
  Status status = match(reader.tree(), {&ask, 1}, &plan);
  if (!status.ok()) return status;
  if (plan.levels.empty()) return {};
  if (leaf_only) {
    const std::uint32_t leaf = plan.levels.back().depth;
    const auto outer = [leaf](const Level& level) {
      return level.depth != leaf;
    };
    Level* const begin = plan.levels.begin();
    Level* const end = std::remove_if(begin, plan.levels.end(), outer);
    while (plan.levels.end() != end) plan.levels.pop_back();
  }
  return store_->reset(plan);
}

void Limiter::reload(std::shared_ptr<const Tree> tree) {
  const std::lock_guard lock(reload_mutex_);
  std::unique_ptr<const Snapshot> next = snapshot_of(std::move(tree));
  const std::unique_ptr<const Snapshot> old(
      snapshot_.exchange(next.release(), std::memory_order_acq_rel));
  ++reloads_;
  // Whoever takes a lane from now on sees the new snapshot; whoever held one
  // before is waited for.  After that nobody has the old one.
  for (Lane& lane : lanes_) const std::lock_guard wait(lane.lock);
}

std::shared_ptr<const Tree> Limiter::tree() {
  return Reader(this).shared_tree();
}

std::string Limiter::describe() { return tree()->describe(); }

Result<std::string> Limiter::explain(Path path) {
  const Ask ask{path, 0};
  if (!acceptable(ask)) return refuse(ask);
  return tree()->explain(path);
}

LimiterStats Limiter::stats() {
  const std::lock_guard lock(reload_mutex_);
  LimiterStats stats;
  stats.store = store_->stats();
  stats.reloads = reloads_;
  stats.limits = static_cast<std::int64_t>(
      snapshot_.load(std::memory_order_acquire)->policies.size());
  for (Lane& lane : lanes_) {
    const std::lock_guard hold(lane.lock);
    stats.totals += lane.totals();
  }
  return stats;
}

std::vector<PolicyStats> Limiter::policy_stats() {
  const std::lock_guard lock(reload_mutex_);
  for (Lane& lane : lanes_) {
    const std::lock_guard hold(lane.lock);
    lane.flush();
  }
  std::vector<PolicyStats> stats;
  for (const Policy& policy : policies_.all()) {
    stats.push_back({policy.name(), policy.tally()});
  }
  return stats;
}

void Limiter::before_fork() {
  reload_mutex_.lock();
  for (Lane& lane : lanes_) lane.lock.lock();
}

void Limiter::after_fork() {
  for (Lane& lane : lanes_) lane.lock.unlock();
  reload_mutex_.unlock();
}

}  // namespace limitree
