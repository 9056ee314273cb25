#include "store/decorators/over_cache.hpp"

#include <algorithm>
#include <mutex>

#include "store/buckets/bucket_tag.hpp"

namespace limitree {

namespace {

// Tells the tags of this table from others: see bucket_tag.hpp.
constexpr std::uint64_t kLimitTag = 3;

bool is_counter(const Level& level) {
  return counts_denied(level.limit->charge);
}

// Whether the counter of a level that was decided is over its limit now.
bool is_over(const Plan& plan, const Level& level) {
  const std::int64_t used = level.verdict.charged
                                ? saturating_sum(level.before, level.cost)
                                : level.before;
  return used > ceiling_of(*level.limit, plan.pressure);
}

}  // namespace

OverCache::OverCache(std::int64_t max_counters, Clock clock)
    : clock_(clock), seed_(SipKey::of_process()) {
  for (Shard& shard : shards_) {
    shard.table =
        BucketTable(BucketTable::Lines::lines_for(max_counters, kShards));
  }
  watch_forks();
}

OverCache::~OverCache() { unwatch_forks(); }

void OverCache::before_fork() {
  for (Shard& shard : shards_) shard.lock.lock();
}

void OverCache::after_fork() {
  for (Shard& shard : shards_) shard.lock.unlock();
}

// A bucket that is over one limit may be well below another: a tag covers both
// the bucket and its limit.
std::uint64_t OverCache::tag(const Plan& plan, const Level& level) const {
  SipHash state = seed_;
  for (std::uint32_t i = 0; i < level.depth; ++i) {
    const Segment& segment = plan.segments[level.first + i];
    state.absorb(segment.text, segment.kind == Segment::Kind::kPattern
                                   ? kPatternTag
                                   : kSegmentTag);
  }
  const std::int64_t limit[] = {ceiling_of(*level.limit, plan.pressure),
                                level.limit->period.count()};
  state.absorb({reinterpret_cast<const char*>(limit), sizeof limit}, kLimitTag);
  return tag_of(state, *level.limit);
}

// Sets the verdict of *level, and returns true, if it is known to be over.
bool OverCache::find(Instant now, const Plan& plan, Level* level) {
  const std::uint64_t name = tag(plan, *level);
  Shard& shard = shard_of(name);
  Duration wait{};
  {
    const std::lock_guard lock(shard.lock);
    ++shard.lookups;
    const Bucket* const bucket = shard.table.find(name);
    if (bucket == nullptr || bucket->is_over(now)) return false;
    wait = saturating_sub(bucket->tat, now);
    // The clock has stepped back: the store is to move the counter to now.
    if (wait > level->limit->period) return false;
    ++shard.hits;
  }
  const std::int64_t ceiling = ceiling_of(*level->limit, plan.pressure);
  const Duration fits = level->cost > ceiling ? kNever : wait;
  level->verdict = {.limited = true,
                    .charged = false,
                    .soft = false,
                    .remaining = 0,
                    .retry_after = fits,
                    .reset_after = wait,
                    .next_after = fits};
  level->applied = false;
  level->growth = wait;
  level->before = ceiling + 1;
  return true;
}

Checkpoint OverCache::take_cached(Plan* plan, CachedLevels* known) {
  const Checkpoint checkpoint = {clock_.now(), forgets_.load()};
  known->clear();
  if (!is_asked(plan->operation) && plan->operation != Operation::kPeek) {
    return checkpoint;
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < plan->levels.size(); ++i) {
    Level& level = plan->levels[i];
    if (is_counter(level) && find(checkpoint.at, *plan, &level)) {
      known->push_back(level);
    } else {
      plan->levels[kept++] = level;
    }
  }
  plan->levels.resize(kept);
  const bool denied = std::ranges::any_of(
      *known, [](const Level& level) { return counts(level.mode); });
  if (!denied) return checkpoint;
  for (Level& level : plan->levels) {
    if (level.limit->charge == Charge::kAllOrDenying) level.cost = 0;
  }
  return checkpoint;
}

void OverCache::learn(const Plan& plan, const Checkpoint& checkpoint) {
  if (plan.operation == Operation::kRefund) return forget(plan);
  if (plan.source != Source::kStore) return;
  for (const Level& level : plan.levels) {
    if (!is_counter(level) || !is_over(plan, level)) continue;
    // Counted from an instant before the store was asked, so never too late.
    const Instant end =
        saturating_add(checkpoint.at, level.verdict.reset_after);
    if (end <= checkpoint.at) continue;
    const std::uint64_t name = tag(plan, level);
    Shard& shard = shard_of(name);
    const std::lock_guard lock(shard.lock);
    if (forgets_.load() != checkpoint.generation) return;
    Bucket* const bucket = shard.table.find(name);
    if (bucket != nullptr) {
      bucket->tat = end;
    } else {
      const std::uint64_t keep[] = {name};
      shard.table.insert(Bucket::made(name, *level.limit, end), checkpoint.at,
                         keep);
    }
  }
}

void OverCache::forget(const Plan& plan) {
  ++forgets_;
  for (const Level& level : plan.levels) {
    const std::uint64_t name = tag(plan, level);
    Shard& shard = shard_of(name);
    const std::lock_guard lock(shard.lock);
    Bucket* const bucket = shard.table.find(name);
    if (bucket != nullptr) bucket->tat = kLongAgo;
  }
}

OverCache::Stats OverCache::stats() {
  Stats stats;
  const Instant now = clock_.now();
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.lock);
    stats.lookups += shard.lookups;
    stats.hits += shard.hits;
    stats.counters += shard.table.live(now);
    stats.evictions += shard.table.evictions();
  }
  return stats;
}

}  // namespace limitree
