// Replaces the limits of a running limiter.

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "base/limit.hpp"
#include "limiter/limiter.hpp"
#include "text/problems.hpp"

namespace limitree {

std::shared_ptr<Limiter::Snapshot> Limiter::snapshot_of(
    std::shared_ptr<const Tree> tree,
    std::shared_ptr<const LoadedRules> rules) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->tree = std::move(tree);
  snapshot->rules = std::move(rules);
  for (const std::span<const Limit> limits : snapshot->tree->limits()) {
    add_limits(limits, snapshot.get());
  }
  return snapshot;
}

// `limits` are those of one name of snapshot->tree.
void Limiter::add_limits(std::span<const Limit> limits, Snapshot* snapshot) {
  snapshot->policies.resize(snapshot->tree->index_end());
  if (!local_share_.is_all()) {
    snapshot->local_limits.resize(snapshot->tree->index_end());
  }
  for (const Limit& limit : limits) {
    snapshot->policies[limit.index] = policies_.intern(limit.policy.str());
    snapshot->has_rules |= !limit.is_plain();
    snapshot->has_holds |= limit.holds();
    snapshot->has_denials |= counts_denials(limit.charge);
    snapshot->has_slots |= limit.algorithm == Algorithm::kConcurrent;
    snapshot->walk_is_all &= !answer_modes_.shadow_mode && limit.unit.empty() &&
                             local_share_.is_all() &&
                             !counts_denials(limit.charge) &&
                             limit.algorithm != Algorithm::kConcurrent;
    if (!limit.unit.empty()) {
      ++snapshot->units[*unit_names_.emplace(limit.unit.view()).first];
    }
    if (local_share_.is_all()) continue;
    Limit& local = snapshot->local_limits[limit.index];
    local = limit;
    if (limit.is_block()) continue;
    local.rate = share_of(limit.rate, local_share_);
  }
}

// `limits` are those of one name that goes.
void Limiter::forget_units(std::span<const Limit> limits, Snapshot* snapshot) {
  for (const Limit& limit : limits) {
    const auto unit = snapshot->units.find(limit.unit.view());
    if (unit == snapshot->units.end()) continue;
    if (--unit->second == 0) snapshot->units.erase(unit);
  }
}

// What `limits` would add to the names that live as long as this.  A name that
// two of them share counts twice.
std::size_t Limiter::lasting_bytes_of(std::span<const Limit> limits) const {
  std::size_t bytes = 0;
  for (const Limit& limit : limits) {
    bytes += policies_.cost_of(limit.policy.str());
    const std::string_view unit = limit.unit.view();
    if (!unit_names_.contains(unit)) bytes += sizeof(std::string) + unit.size();
  }
  return bytes;
}

std::shared_ptr<const Limiter::LoadedRules> Limiter::rules_of(
    std::shared_ptr<const Descriptors> descriptors) {
  auto loaded = std::make_shared<LoadedRules>();
  if (stop_increment_ != Stop::kOff) {
    descriptors = std::make_shared<const Descriptors>(descriptors->stopping());
  }
  for (const Rule& rule : descriptors->rules()) {
    loaded->metrics.push_back(rule.metric_varies
                                  ? nullptr
                                  : metrics_.intern(rule.limit.policy.view()));
    loaded->names.push_back(*rule_names_.emplace(rule.limit.name.view()).first);
    if (local_share_.is_all()) continue;
    Limit& local = loaded->local_limits.emplace_back(rule.limit);
    if (!rule.unlimited) local.rate = share_of(rule.limit.rate, local_share_);
  }
  loaded->descriptors = std::move(descriptors);
  return loaded;
}

void Limiter::reload(std::shared_ptr<const Descriptors> descriptors) {
  const std::lock_guard lock(reload_mutex_);
  auto snapshot = std::make_shared<Snapshot>(*owner_);
  snapshot->rules = rules_of(std::move(descriptors));
  replace(std::move(snapshot));
}

Status Limiter::reload(const Tree& tree,
                       std::shared_ptr<const Descriptors> descriptors) {
  const std::lock_guard lock(reload_mutex_);
  Result<Tree> merged = tree.with_added_of(*owner_->tree);
  if (!merged.ok()) return std::move(merged.status());
  replace(snapshot_of(std::make_shared<const Tree>(std::move(merged.value())),
                      descriptors != nullptr ? rules_of(std::move(descriptors))
                                             : owner_->rules));
  return {};
}

Status Limiter::put(std::shared_ptr<Nodes> root, Replace may_replace,
                    std::size_t max_bytes) {
  const std::lock_guard lock(reload_mutex_);
  const std::string name(Tree::name_of(*root));
  const Tree& tree = *owner_->tree;
  const bool may = may_replace == Replace::kAny ||
                   (may_replace == Replace::kAdded && tree.has_added(name));
  if (tree.has(name) && !may) {
    return Status(Code::kInvalidConfig,
                  quote(name) + " is a top-level name already");
  }
  auto snapshot = std::make_shared<Snapshot>(*owner_);
  snapshot->tree = std::make_shared<const Tree>(tree.with(std::move(root)));
  const std::span<const Limit> limits = snapshot->tree->limits_of(name);
  const std::size_t lasting = lasting_bytes_ + lasting_bytes_of(limits);
  if (snapshot->tree->added_bytes() + lasting > max_bytes) {
    return Status(Code::kOutOfMemory,
                  "the names that were put, and the counters of those that are "
                  "gone, would take more than " +
                      std::to_string(max_bytes) + " bytes");
  }
  lasting_bytes_ = lasting;
  forget_units(tree.limits_of(name), snapshot.get());
  add_limits(limits, snapshot.get());
  replace(std::move(snapshot));
  return {};
}

Status Limiter::remove(std::string_view name) {
  const std::lock_guard lock(reload_mutex_);
  if (!owner_->tree->has_added(name)) {
    return Status(Code::kUnknownRoot,
                  "no top-level name " + quote(name) + " was put");
  }
  // The others keep their indices.
  auto snapshot = std::make_shared<Snapshot>(*owner_);
  forget_units(owner_->tree->limits_of(name), snapshot.get());
  snapshot->tree = std::make_shared<const Tree>(owner_->tree->without(name));
  replace(std::move(snapshot));
  return {};
}

// REQUIRES: reload_mutex_ is held.
void Limiter::replace(std::shared_ptr<const Snapshot> snapshot) {
  const std::shared_ptr<const Snapshot> old =
      std::exchange(owner_, std::move(snapshot));
  snapshot_.store(owner_.get(), std::memory_order_release);
  ++reloads_;
  // A thread that takes a stripe from now on sees the new snapshot.  Waits for
  // threads that took one before.  Afterwards only those with a share in the
  // old snapshot still use it.
  for (Stripe& stripe : stripes_) const std::lock_guard wait(stripe);
  store_->limits_changed();
}

}  // namespace limitree
