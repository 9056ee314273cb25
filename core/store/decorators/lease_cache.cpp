#include "store/decorators/lease_cache.hpp"

#include <algorithm>
#include <bit>
#include <mutex>
#include <utility>

#include "store/buckets/shard_work.hpp"
#include "store/decorators/lease_answers.hpp"

namespace limitree {

template class SlotTable<LeaseSlot, PrivateLines<LeaseSlot>>;

namespace {

bool concerns_leases(const Plan& plan) {
  return std::ranges::any_of(
      plan.levels, [](const Level& level) { return level.limit->is_leased(); });
}

// A path that uses fewer units in the time of a lease never denies ahead, nor
// does one that gets one of so many parts of what it asked for.
constexpr std::int64_t kFewUnits = 4;

void add_to_shape(std::uint64_t value, std::uint64_t* shape) {
  *shape = std::rotl(*shape * 0x9e3779b97f4a7c15, 29) ^ value;
}

// All that tells how much a limit allows, and for how long it is leased: what
// was leased before a reload is not for requests after it, nor the reverse.
void shape_limit(const Limit& limit, std::uint64_t* shape) {
  add_to_shape(static_cast<std::uint64_t>(limit.rate.emission_interval.count()),
               shape);
  add_to_shape(static_cast<std::uint64_t>(limit.rate.capacity), shape);
  add_to_shape(static_cast<std::uint64_t>(limit.lease.count()), shape);
  add_to_shape(static_cast<std::uint64_t>(limit.cost), shape);
  if (limit.is_plain()) return;
  add_to_shape(static_cast<std::uint64_t>(limit.period.count()), shape);
}

// How many requests of one unit more fit at a plain level.
std::int64_t units_free(const Level& level) {
  const Duration free =
      level.limit->rate.burst_offset() - level.verdict.reset_after;
  return free.count() / leased_unit(*level.limit);
}

// Until when units may be used that were asked for at `asked`.
Instant end_of_lease(const Plan& plan, Instant asked, Duration lease) {
  Duration valid = valid_for(lease);
  for (const Level& level : plan.levels) {
    if (level.limit->is_plain()) continue;
    valid = std::min(valid, valid_for(level.verdict.reset_after));
  }
  return saturating_add(asked, valid);
}

}  // namespace

LeaseCache::LeaseCache(std::unique_ptr<Store> store, Clock clock)
    : StoreDecorator(std::move(store)),
      clock_(clock),
      seed_(SipKey::of_process()) {
  for (Shard& shard : shards_) {
    shard.table = LeaseTable(LeaseTable::Lines::lines_for(kMaxPaths, kShards));
  }
  watch_forks();
}

LeaseCache::~LeaseCache() { unwatch_forks(); }

void LeaseCache::before_fork() {
  for (Shard& shard : shards_) shard.lock.lock();
}

void LeaseCache::after_fork() {
  for (Shard& shard : shards_) shard.lock.unlock();
}

// What is held belongs to the parent.
void LeaseCache::after_fork_in_child() {
  for (Shard& shard : shards_) shard.table.clear();
  after_fork();
}

// What tells the path from others; false if its units cannot be leased.
bool LeaseCache::read(const Plan& plan, Request* request) const {
  if (!can_lease(plan)) return false;
  const Level& first = plan.levels[0];
  request->units = first.cost / first.limit->cost;
  request->lease = first.limit->lease;
  if (request->units > kMaxLeased) return false;
  ShardWork<0> work(plan.levels.size());
  hash_levels(seed_, plan, &work);
  request->shape = 0;
  request->ahead = true;
  for (std::size_t i = 0; i < plan.levels.size(); ++i) {
    const Limit& limit = *plan.levels[i].limit;
    // Not all units are those of requests.
    if (plan.levels[i].cost != saturating_cost(request->units, limit.cost)) {
      return false;
    }
    request->lease = std::min(request->lease, limit.lease);
    request->ahead = request->ahead && limit.denies_ahead;
    add_to_shape(work.tags[i], &request->shape);
    shape_limit(limit, &request->shape);
  }
  const std::size_t last = plan.levels.size() - 1;
  request->tag = work.tags[last];
  const Limit& limit = *plan.levels[last].limit;
  request->unit = Duration(limit.is_plain() ? leased_unit(limit) : 0);
  return true;
}

LeaseCache::Next LeaseCache::prepare(Plan* plan, Checkpoint* checkpoint) {
  // Who asks for units keeps them.
  if (!concerns_leases(*plan) || plan->lease.most > 0) [[likely]]
    return Next::kPassOn;
  if (plan->operation == Operation::kRefund) {
    forget(*plan);
    *checkpoint = {clock_.now(), 0};
    return Next::kWatch;
  }
  Request request;
  if (!read(*plan, &request)) return Next::kPassOn;
  *checkpoint = {clock_.now(), 0};
  return spend(request, plan, checkpoint);
}

// Decides *plan by units that are held, or says what to ask for.
LeaseCache::Next LeaseCache::spend(const Request& request, Plan* plan,
                                   Checkpoint* checkpoint) {
  const Instant now = checkpoint->at;
  // Callers with a pause of more than this are not worth remembering.
  const Duration stays = 2 * request.lease;
  Shard& shard = shard_of(request.tag);
  const std::lock_guard lock(shard.lock);
  LeaseSlot* const slot = shard.table.find(request.tag);
  // The clock of a caller may step back: then nothing is known any more.
  const bool known =
      slot != nullptr && !slot->is_over(now) &&
      saturating_sub(slot->over_at, now) <= stays + request.lease / 64;
  if (!known) {
    LeaseSlot fresh{};
    fresh.tag = request.tag;
    fresh.shape = request.shape;
    fresh.over_at = saturating_add(now, stays);
    fresh.since = now;
    fresh.processes = LeaseSlot::kOne;
    fresh.epoch = ++shard.epochs;
    fresh.count(now, request.lease, request.units);
    if (slot != nullptr) {
      *slot = fresh;
    } else if (!fresh.is_over(now)) {
      shard.table.insert(fresh, now, {});
    }
    return Next::kPassOn;
  }
  // Another list of levels that ends with the same bucket.
  if (slot->shape != request.shape) return Next::kPassOn;
  slot->over_at = saturating_add(now, stays);
  slot->count(now, request.lease, request.units);
  const std::int64_t wanted = slot->wanted();
  if (slot->denies(now, request.units)) {
    deny_by_lease(*slot, now, plan);
    note_denial(*slot, now, request.units, plan);
    return Next::kSpent;
  }
  const bool may_ask = !slot->is_rare() && wanted > 0 &&
                       slot->asked_until <= now && slot->denied_until <= now;
  // What is used while the store answers.
  const std::int64_t low = std::max(wanted / 16, request.units);
  const bool is_low = slot->units_at(now) <= low;
  if (!(may_ask && is_low) && slot->take(now, request.units)) {
    shard.used += request.units;
    allow_by_lease(slot, now, plan);
    note_denial(*slot, now, request.units, plan);
    return Next::kSpent;
  }
  if (!may_ask || !is_low) {
    slot->add_taken(request.units, request.unit);
    return Next::kPassOn;
  }
  slot->asked_until = saturating_add(now, request.lease);
  checkpoint->generation = slot->epoch;
  plan->lease.most = wanted;
  plan->lease.parts = slot->parts(request.ahead);
  return Next::kWatch;
}

// Begins to deny by itself if the store had too few units for a path of which
// the level that had the least says `ahead`.
void LeaseCache::deny_ahead(const Request& request, const Plan& plan,
                            Instant now, LeaseSlot* slot) {
  const std::int64_t wanted = slot->wanted();
  // A path that is not leased after all has no units to wait for.
  if (plan.lease.most <= 0 || wanted < kFewUnits || request.units != 1 ||
      !plan.all_plain()) {
    return;
  }
  const auto has_less = [](const Level& a, const Level& b) {
    if (a.verdict.limited != b.verdict.limited) return a.verdict.limited;
    return units_free(a) < units_free(b);
  };
  const auto scarce =
      std::min_element(plan.levels.begin(), plan.levels.end(), has_less);
  if (!scarce->verdict.limited &&
      units_free(*scarce) / slot->parts(request.ahead) >= wanted / kFewUnits) {
    return;
  }
  // The deny cache knows longer waits.
  if (!scarce->limit->denies_ahead ||
      scarce->verdict.retry_after > request.lease) {
    return;
  }
  slot->denied = static_cast<std::uint32_t>(scarce - plan.levels.begin());
  slot->denied_until = saturating_add(now, request.lease);
}

// Takes what the store has granted, in answer to a plan that was passed on at
// that checkpoint.  Returns whether it has decided *plan by units that it held,
// because the store denied it or failed.
bool LeaseCache::take(bool failed, const Checkpoint& checkpoint, Plan* plan) {
  Request request;
  if (!read(*plan, &request)) return false;
  // The guard of the store may have answered in its place.
  failed = failed || plan->source == Source::kLocal ||
           plan->source == Source::kAllow || plan->source == Source::kDeny;
  const bool good = !failed && plan->source == Source::kStore;
  const std::int64_t granted = good ? plan->lease.granted : 0;
  const Instant now = clock_.now();
  Shard& shard = shard_of(request.tag);
  const std::lock_guard lock(shard.lock);
  shard.leased += granted;
  LeaseSlot* const slot = shard.table.find(request.tag);
  if (slot == nullptr || slot->shape != request.shape) return false;
  // While the store is away, few requests wait for it and many use what is
  // held.
  slot->asked_until =
      failed ? saturating_add(now, request.lease / 4) : kLongAgo;
  if (slot->epoch != checkpoint.generation) return false;
  if (good) learn(request, *plan, checkpoint.at, now, slot);
  if (granted > 0) {
    const Instant end = end_of_lease(*plan, checkpoint.at, request.lease);
    // A clock of the program may have stepped back.
    if (end > now && now >= checkpoint.at) slot->add(now, {end, granted});
  }
  const bool known = good || plan->source == Source::kDenyCache;
  if (known) deny_ahead(request, *plan, now, slot);
  const bool refused =
      failed || std::ranges::any_of(plan->levels, [](const Level& level) {
        return level.verdict.limited;
      });
  const bool serves = refused && slot->take(now, request.units);
  if (serves) {
    shard.used += request.units;
    allow_by_lease(slot, now, plan);
  }
  if (known || serves) note_denial(*slot, now, request.units, plan);
  return serves;
}

// Learns what the buckets hold without units that this process has not spent.
void LeaseCache::learn(const Request& request, const Plan& plan, Instant asked,
                       Instant now, LeaseSlot* slot) {
  const std::int64_t held = slot->units_at(now);
  for (std::size_t i = 0; i < plan.levels.size(); ++i) {
    const Level& level = plan.levels[i];
    const Limit& limit = *level.limit;
    const Duration after = level.verdict.reset_after;
    if (limit.is_plain()) {
      const Duration unspent = Duration(leased_unit(limit)) * held;
      slot->ends[i] =
          saturating_add(asked, std::max(after - unspent, Duration::zero()));
    } else {
      const std::int64_t used = limit.rate.capacity - level.verdict.remaining;
      slot->ends[i] = saturating_add(asked, after);
      slot->used[i] = static_cast<std::uint32_t>(
          std::max(used - held * limit.cost, std::int64_t{0}));
    }
  }
  if (request.unit == Duration::zero()) return;
  const Level& last = plan.levels.back();
  slot->see_others(
      asked, saturating_add(asked, std::max(last.debt, Duration::zero())),
      request.unit,
      last.verdict.charged ? request.units + plan.lease.granted : 0);
}

Status LeaseCache::decide(Plan* plan) {
  Checkpoint checkpoint;
  switch (prepare(plan, &checkpoint)) {
    case Next::kSpent:
      return {};
    case Next::kPassOn:
      return store_->decide(plan);
    case Next::kWatch:
      break;
  }
  return answered(Pending::Kind::kDecide, plan, store_->decide(plan),
                  checkpoint);
}

bool LeaseCache::start(Pending* pending, Status* status) {
  Checkpoint checkpoint;
  if (pending->kind() == Pending::Kind::kReset) {
    if (!concerns_leases(pending->plan())) {
      return store_->start(pending, status);
    }
    forget(pending->plan());
    return pass_on(pending, checkpoint, status);
  }
  switch (prepare(&pending->plan(), &checkpoint)) {
    case Next::kSpent:
      *status = {};
      return true;
    case Next::kPassOn:
      return store_->start(pending, status);
    case Next::kWatch:
      break;
  }
  return pass_on(pending, checkpoint, status);
}

Status LeaseCache::answered(Pending::Kind kind, Plan* plan, Status status,
                            const Checkpoint& checkpoint) {
  if (kind == Pending::Kind::kReset || plan->operation == Operation::kRefund) {
    // Also after a failure: it may have happened.
    forget(*plan);
  } else {
    if (take(!status.ok(), checkpoint, plan)) status = {};
    plan->lease = {};  // it may be decided again
  }
  return status;
}

Status LeaseCache::reset(const Plan& plan) {
  if (!concerns_leases(plan)) return store_->reset(plan);
  forget(plan);
  Status status = store_->reset(plan);
  forget(plan);
  return status;
}

// Forgets the units of the paths that end with a level of `plan`, and what is
// on its way for them.
void LeaseCache::forget(const Plan& plan) {
  ShardWork<0> work(plan.levels.size());
  hash_levels(seed_, plan, &work);
  for (const std::uint64_t tag : work.tags) {
    Shard& shard = shard_of(tag);
    const std::lock_guard lock(shard.lock);
    LeaseSlot* const slot = shard.table.find(tag);
    if (slot == nullptr) continue;
    slot->over_at = kLongAgo;
    slot->epoch = ++shard.epochs;
  }
}

void LeaseCache::clear() {
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.lock);
    shard.table.clear();
  }
}

void LeaseCache::limits_changed() {
  store_->limits_changed();
  clear();
}

StoreStats LeaseCache::stats() {
  StoreStats stats = store_->stats();
  const Instant now = clock_.now();
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.lock);
    std::int64_t held = 0;
    shard.table.lines().each([&](const LeaseSlot* slot) {
      if (slot->tag != 0 && !slot->is_over(now)) held += slot->units_at(now);
    });
    stats.leased += shard.leased;
    stats.lease_used += shard.used;
    stats.lease_lost += shard.leased - shard.used - held;
  }
  return stats;
}

}  // namespace limitree
