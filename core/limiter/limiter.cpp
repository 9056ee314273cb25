#include "limiter/limiter.hpp"

#include <algorithm>
#include <utility>

#include "base/judge.hpp"
#include "text/text_table.hpp"
#include "tree/walk.hpp"

namespace limitree {

// Walks all paths down the tree, and joins their common levels.
Status Limiter::match(const Snapshot& snapshot, const Costs& costs,
                      Plan* plan) const {
  const std::span<const PathCost> path_costs = costs.paths;
  const std::vector<Limit>& local = snapshot.local_limits;
  const Counted counted{snapshot.units, snapshot.has_slots};
  const bool simple = is_simple(counted, costs, plan->operation);
  if (snapshot.has_rules)
    plan->pressure = pressure_.load(std::memory_order_relaxed);
  const bool shadow = answer_modes_.shadow_mode;
  const bool settles = is_about_hold(plan->operation);
  if (!local.empty()) plan->local_limits = local.data();
  if (path_costs.size() > kMaxPaths) return check_path_count(path_costs.size());
  for (std::size_t i = 0; i < path_costs.size(); ++i) {
    const std::size_t before = plan->levels.size();
    if (!acceptable(path_costs[i], settles ? kAsHeld : 0)) [[unlikely]]
      return refuse_path(path_costs[i]);
    if (Status status =
            snapshot.tree->match(path_costs[i].path, path_costs[i].cost, plan);
        !status.ok()) {
      return status;
    }
    if (plan->levels.size() > kMaxLevels) {
      return too_many_levels(path_costs, i, plan->levels.size());
    }
    for (std::size_t k = before; k < plan->levels.size(); ++k) {
      Level& level = plan->levels[k];
      level.path = static_cast<std::uint32_t>(i);
      level.mode = mode_of(level.mode, path_costs[i].part);
      if (shadow) level.mode = in_shadow(level.mode);
    }
  }
  if (!simple) [[unlikely]] {
    if (Status status = set_costs(counted, costs, plan); !status.ok()) {
      return status;
    }
  }
  if (snapshot.has_denials) [[unlikely]]
    plan_denials(plan);
  return path_costs.size() > 1 ? join_same_buckets(plan) : Status();
}

// match() of one path, without the parts in which it would find nothing to do
// for most requests.  No path of a tree has more than kMaxLevels.
[[gnu::always_inline]] inline Status Limiter::match_one(
    const Snapshot& snapshot, Path path, std::int64_t cost, Plan* plan) const {
  const PathCost one{path, cost};
  if (!snapshot.walk_is_all || !acceptable(one)) [[unlikely]]
    return match(snapshot, {{&one, 1}}, plan);
  if (snapshot.has_rules)
    plan->pressure = pressure_.load(std::memory_order_relaxed);
  return snapshot.tree->walk(path, cost, plan);
}

Limiter::Limiter(std::shared_ptr<const Tree> tree, const Options& options,
                 std::unique_ptr<Store> store,
                 std::shared_ptr<const Descriptors> descriptors)
    : store_(std::move(store)),
      remote_(store_->is_remote()),
      may_wait_(store_->may_wait()),
      local_share_(options.local_share),
      near_limit_(options.near_limit),
      answer_modes_(options.answer_modes),
      stop_increment_(options.stop_increment),
      clock_(options.clock),
      retry_spread_(options.retry_spread),
      over_cache_(options.over_cache_size == 0
                      ? nullptr
                      : std::make_unique<OverCache>(options.over_cache_size,
                                                    options.clock)),
      stripes_(options.near_limit),
      metrics_(static_cast<std::size_t>(options.max_metric_keys)),
      owner_(
          snapshot_of(std::move(tree),
                      rules_of(descriptors != nullptr
                                   ? std::move(descriptors)
                                   : std::make_shared<const Descriptors>()))),
      snapshot_(owner_.get()) {
  watch_forks();
}

// Fills the reports for which there is room.
void Limiter::report(const Snapshot& snapshot, const Plan& plan,
                     LevelReports* reports) {
  for (std::size_t i = 0; i < reports->size(); ++i) {
    const Level& level = plan.levels[i];
    const bool hidden = level.mode == Mode::kIdle || is_silent(level);
    (*reports)[i] = {snapshot.policy(level)->name(),
                     snapshot.unit(level),
                     level.limit->rate.capacity,
                     level.limit->is_block() ? level.verdict.reset_after
                                             : window_of(*level.limit),
                     hidden ? Mode::kShadow : level.mode,
                     level.cost,
                     level.path,
                     level.verdict,
                     grows_after(level)};
  }
}

// How many levels hold, or did.
void Limiter::count_held(const Plan& plan, Decision* decision) {
  if (plan.operation != Operation::kReserve && !is_about_hold(plan.operation)) {
    return;
  }
  for (const Level& level : plan.levels) {
    decision->held += level.limit->holds() && level.verdict.charged ? 1 : 0;
  }
}

[[gnu::always_inline]] inline void Limiter::record(const Snapshot& snapshot,
                                                   const Plan& plan,
                                                   const Decision& decision,
                                                   Stripe* stripe) {
  if (snapshot.has_holds) stripe->count_holds(plan, decision);
  if (!is_asked(plan.operation)) return;
  stripe->count(decision);
  for (const Level& level : plan.levels) {
    // Not by policy(), which checks the index.
    Policy* const policy = snapshot.policies.data()[level.limit->index];
    stripe->count(policy, level, !decision.limited);
  }
}

// `match_levels` sets those of the plan.
template <typename Match>
[[gnu::always_inline]] inline Status Limiter::decide_matched(
    Operation operation, Match match_levels, LevelReports* reports,
    Decision* decision) {
  Reader reader(this);
  Plan plan(operation);
  plan.wants_growth = reports != nullptr;
  Status status = match_levels(reader.snapshot(), &plan);
  // Allocates the reports now: nothing may fail after the store has charged.
  if (reports != nullptr) reports->resize(plan.levels.size());
  if (status.ok() && !plan.levels.empty()) {
    status = may_wait_ ? decide(&plan, &reader) : store_->decide(&plan);
  }
  if (!status.ok()) {
    reader.stripe().count_error();
    return status;
  }
  aggregate(plan, decision);
  retry_spread_.apply(decision);
  count_held(plan, decision);
  record(reader.snapshot(), plan, *decision, &reader.stripe());
  if (reports != nullptr) report(reader.snapshot(), plan, reports);
  return {};
}

Status Limiter::decide(Operation operation, const Costs& costs,
                       LevelReports* reports, Decision* decision) {
  const auto match_all = [&](const Snapshot& snapshot, Plan* plan) {
    if (costs.paths.size() == 1 && costs.units.empty() &&
        costs.paths[0].part == Part::kCharge && operation <= Operation::kLook) {
      return match_one(snapshot, costs.paths[0].path, costs.paths[0].cost,
                       plan);
    }
    return match(snapshot, costs, plan);
  };
  return decide_matched(operation, match_all, reports, decision);
}

Status Limiter::decide(Operation operation, Path path, std::int64_t cost,
                       Decision* decision) {
  const auto match_path = [&](const Snapshot& snapshot, Plan* plan) {
    return match_one(snapshot, path, cost, plan);
  };
  return decide_matched(operation, match_path, nullptr, decision);
}

Status Limiter::decide(Plan* plan, Reader* reader) {
  if (!remote_) {
    plan->at_once = true;
    if (Status status = store_->decide(plan); status.ok()) return status;
    plan->at_once = false;
  }
  reader->release();
  return store_->decide(plan);
}

// Plans the levels to forget, which may be none.
Status Limiter::match_reset(const Snapshot& snapshot, Path path, Forget which,
                            Plan* plan) const {
  if (which == Forget::kBlock) return match_block(snapshot, path, plan);
  const PathCost path_cost{path, 0};
  // Limits that count denials are not forgotten, but make a node the leaf. Only
  // requests that can be denied meet them.
  const Operation operation = std::exchange(plan->operation, Operation::kPeek);
  Status status = match(snapshot, {{&path_cost, 1}}, plan);
  plan->operation = operation;
  if (!status.ok() || plan->levels.empty()) return status;
  const std::uint32_t leaf = plan->levels.back().depth;
  keep_levels(plan, [which, leaf](const Level& one) {
    return !counts_denials(one.limit->charge) &&
           (which == Forget::kPath || one.depth == leaf);
  });
  return {};
}

Status Limiter::reset(Path path, Forget which) {
  const std::shared_ptr<const Snapshot> snapshot = current();
  Plan plan(Operation::kRefund);
  Status status = match_reset(*snapshot, path, which, &plan);
  if (!status.ok() || plan.levels.empty()) return status;
  return store_->reset(plan);
}

void Limiter::record(const Snapshot& snapshot, const Plan& plan,
                     const Decision& decision) {
  if (!is_asked(plan.operation) && !snapshot.has_holds) return;
  Reader reader(this);
  record(snapshot, plan, decision, &reader.stripe());
}

void Limiter::count_error() { Reader(this).stripe().count_error(); }

Status Limiter::ping() { return store_->ping(); }

std::shared_ptr<const Limiter::Snapshot> Limiter::current() {
  return Reader(this).snapshot().shared_from_this();
}

// What the option shadow_mode changes about all limits of the tree.
std::string Limiter::about_modes() const {
  return answer_modes_.shadow_mode
             ? "shadow_mode is on: no limit denies a request\n"
             : "";
}

std::string Limiter::describe() {
  return about_modes() + current()->tree->describe();
}

Result<std::string> Limiter::explain(Path path) {
  const PathCost path_cost{path, 0};
  if (!acceptable(path_cost)) return refuse_path(path_cost);
  Result<std::string> text = current()->tree->explain(path);
  if (text.ok()) text.value() += about_modes();
  if (!text.ok() || remote_) return text;
  Result<std::string> held = list_holds(path);
  // Without a store that answers, the text says what the tree does.
  if (held.ok() && !held.value().empty()) {
    text.value() += "held\n" + held.value();
  }
  return text;
}

Result<std::string> Limiter::list_holds(Path path) {
  const std::shared_ptr<const Snapshot> snapshot = current();
  const PathCost path_cost{path, 0};
  std::vector<FoundHold> found;
  Plan plan(Operation::kLook);
  plan.found = &found;
  Status status = match(*snapshot, {{&path_cost, 1}}, &plan);
  if (status.ok() && !plan.levels.empty()) status = store_->decide(&plan);
  if (!status.ok()) return status;
  return held_in_words(plan, found);
}

std::shared_ptr<const Descriptors> Limiter::descriptors() {
  return current()->rules->descriptors;
}

LimiterStats Limiter::stats() {
  LimiterStats stats;
  stats.store = store_->stats();  // may wait
  const std::lock_guard lock(reload_mutex_);
  stats.reloads = reloads_;
  stats.limits = static_cast<std::int64_t>(owner_->tree->limit_count());
  for (Stripe& stripe : stripes_) {
    const std::lock_guard hold(stripe);
    stats.totals += stripe.totals();
  }
  return stats;
}

std::vector<PolicyStats> Limiter::policy_stats() {
  const std::lock_guard lock(reload_mutex_);
  stripes_.flush();
  std::vector<PolicyStats> stats;
  for (const Policy& policy : policies_.all()) {
    stats.push_back({policy.name(), policy.tally()});
  }
  return stats;
}

std::vector<MetricStats> Limiter::metric_stats() {
  const std::lock_guard lock(reload_mutex_);
  stripes_.flush();
  std::vector<MetricStats> stats;
  for (const HitMetric* const metric : metrics_.all()) {
    stats.push_back({metric->name(), metric->tally()});
  }
  return stats;
}

EnvoyStats Limiter::envoy_stats() {
  const std::lock_guard lock(reload_mutex_);
  EnvoyStats stats;
  if (over_cache_ != nullptr) stats.over_cache = over_cache_->stats();
  stats.metric_keys = static_cast<std::int64_t>(metrics_.all().size());
  for (Stripe& stripe : stripes_) {
    const std::lock_guard hold(stripe);
    stats.totals += stripe.hits().totals;
  }
  return stats;
}

void Limiter::before_fork() {
  reload_mutex_.lock();
  for (Stripe& stripe : stripes_) stripe.lock();
}

void Limiter::after_fork_in_child() {
  hold_ids_.forked();
  retry_spread_.forked();
  after_fork();
}

void Limiter::after_fork() {
  for (Stripe& stripe : stripes_) stripe.unlock();
  reload_mutex_.unlock();
}

}  // namespace limitree
