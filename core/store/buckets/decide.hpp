// The functions of BucketShards.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/inline_vector.hpp"
#include "base/judge.hpp"
#include "base/plan.hpp"
#include "store/buckets/bucket_shards.hpp"
#include "store/buckets/mixed_decision.hpp"
#include "store/buckets/mixed_level.hpp"
#include "store/buckets/shard_work.hpp"

namespace limitree {

template <typename Memory>
Status BucketShards<Memory>::decide(Plan* plan) {
  if (plan->lease.most > 0) [[unlikely]]
    return decide_mixed<0>(plan);
  switch (plan->levels.size()) {
    [[likely]] case 1 : return decide_levels<1>(plan);
    case 2:
      return decide_levels<2>(plan);
    case 3:
      return decide_levels<3>(plan);
    case 4:
      return decide_levels<4>(plan);
    default:
      return decide_levels<0>(plan);
  }
}

template <typename Memory>
template <std::size_t kLevels>
Status BucketShards<Memory>::decide_levels(Plan* plan) {
  Work<kLevels> work(plan->levels.size());
  bool plain = true;
  for (std::size_t i = 0; i < work.count(); ++i) {
    plain &= plan->levels[i].limit->is_plain();
  }
  if (!plain) [[unlikely]]
    return decide_mixed<kLevels>(plan);
  // The hash overlaps with reading the clock, but not the other way round.
  Instant now = clock_.now();
  hash_levels(seed_, *plan, &work);
  Locked<kLevels> locked(&memory_, &work, {plan->at_once, plan->waits_since});
  if (locked.ok()) [[likely]]
    now = locked.settle(now, clock_);
  if (!locked.ok()) [[unlikely]]
    return locked.failure();
  load(&work, now, plan);
  if (is_asked(plan->operation)) [[likely]] {
    judge_charge<true>(Operation::kAuthorize, plan->levels.data(), work.count(),
                       plan->denied);
  } else {
    judge(plan->operation, plan->levels.data(), work.count(), plan->denied);
  }
  if (work.misses && !reserve(work, now, plan)) [[unlikely]] {
    Status full = memory_.full();
    if (!full.ok()) return full;
  }
  store(work, now, plan);
  return {};
}

template <typename Memory>
template <std::size_t kLevels>
[[gnu::always_inline]] inline void BucketShards<Memory>::load(
    Work<kLevels>* work, Instant now, Plan* plan) {
  for (std::size_t i = 0; work->count() > 1 && i < work->count(); ++i) {
    table_of(work->tags[i]).lines().prefetch(work->tags[i]);
  }
  for (std::size_t i = 0; i < work->count(); ++i) {
    Bucket* const bucket = table_of(work->tags[i]).lines().find(work->tags[i]);
    work->buckets[i] = bucket;
    work->misses |= bucket == nullptr;
    plan->levels[i].debt =
        bucket == nullptr ? Duration::zero() : saturating_sub(bucket->tat, now);
  }
}

// Makes sure of memory for the buckets that are to be made, before anything is
// charged.  Returns false if there is none.
template <typename Memory>
template <std::size_t kLevels>
[[gnu::noinline]] bool BucketShards<Memory>::reserve(const Work<kLevels>& work,
                                                     Instant now, Plan* plan) {
  for (std::size_t i = 0; i < work.count(); ++i) {
    const bool is_made =
        plan->levels[i].verdict.charged && work.buckets[i] == nullptr;
    if (is_made && !table_of(work.tags[i]).reserve(now)) return false;
  }
  return true;
}

// Writes existing buckets first, because an insert may move them.
template <typename Memory>
template <std::size_t kLevels>
[[gnu::always_inline]] inline void BucketShards<Memory>::store(
    const Work<kLevels>& work, Instant now, Plan* plan) {
  bool inserts = false;
  for (std::size_t i = 0; i < work.count(); ++i) {
    const Level& level = plan->levels[i];
    const Verdict& verdict = level.verdict;
    if (!verdict.charged && !is_held(*plan, level)) continue;
    if (work.buckets[i] == nullptr) {
      inserts = true;
    } else {
      // Without debt the bucket is gone, even for a clock that steps back.
      const Instant tat = verdict.reset_after == Duration::zero()
                              ? kLongAgo
                              : saturating_add(now, verdict.reset_after);
      work.buckets[i]->charge(work.tags[i], *level.limit, tat, now);
    }
  }
  for (std::size_t i = 0; inserts && i < work.count(); ++i) {
    const Level& level = plan->levels[i];
    if (!level.verdict.charged || work.buckets[i] != nullptr) continue;
    const Instant tat = saturating_add(now, level.verdict.reset_after);
    if (tat <= now) continue;  // at the end of time
    const Bucket bucket = Bucket::made(work.tags[i], *level.limit, tat);
    plan->forgot |= table_of(work.tags[i]).insert(bucket, now, work.keep());
  }
}

// decide_levels() for levels of all kinds.
template <typename Memory>
template <std::size_t kLevels>
[[gnu::noinline]] Status BucketShards<Memory>::decide_mixed(Plan* plan) {
  Work<kLevels> work(plan->levels.size());
  MixedRequest ask{plan, clock_.now(), {&work.tags[0], work.count()}};
  hash_levels(seed_, *plan, &work);
  ask.keep = work.keep();
  {
    Locked<kLevels> locked(&memory_, &work, {plan->at_once, plan->waits_since});
    if (locked.ok()) ask.now = locked.settle(ask.now, clock_);
    if (!locked.ok()) return locked.failure();
    Status status = decide_locked(ask, work);
    if (!status.ok()) return status;
  }
  memory_.decided_logs(ask);
  return {};
}

// Evaluates, judges, and makes sure of memory before it charges anything.
template <typename Memory>
template <std::size_t kLevels>
[[gnu::always_inline]] inline Status BucketShards<Memory>::decide_locked(
    const MixedRequest& ask, const Work<kLevels>& work) {
  Mixed<kLevels> mixed(work.count());
  return decide_mixed_levels(
      ask, &mixed, [&](std::size_t i) { return place_of(work.tags[i]); },
      [this] { return memory_.full(); });
}

template <typename Memory>
void BucketShards<Memory>::peek(Plan* plan, Instant now) {
  switch (plan->levels.size()) {
    case 1:
      return peek_levels<1>(plan, now);
    case 2:
      return peek_levels<2>(plan, now);
    case 3:
      return peek_levels<3>(plan, now);
    default:
      return peek_levels<0>(plan, now);
  }
}

template <typename Memory>
template <std::size_t kLevels>
void BucketShards<Memory>::peek_levels(Plan* plan, Instant now) {
  Work<kLevels> work(plan->levels.size());
  hash_levels(seed_, *plan, &work);
  {
    const Locked<kLevels> locked(&memory_, &work);
    load(&work, now, plan);
  }
  judge_charge<true>(Operation::kPeek, plan->levels.data(), work.count(),
                     plan->denied);
}

template <typename Memory>
template <typename IsCurrent>
void BucketShards<Memory>::learn(const Plan& plan, Instant now,
                                 IsCurrent is_current) {
  Work<0> work(plan.levels.size());
  hash_levels(seed_, plan, &work);
  const Locked<0> locked(&memory_, &work);
  if (!is_current()) return;
  for (std::size_t i = 0; i < work.count(); ++i) {
    const std::uint64_t tag = work.tags[i];
    const Level& level = plan.levels[i];
    if (!level.limit->is_plain()) continue;
    // A block may be lifted by another process.
    if (counts_denials(level.limit->charge)) continue;
    // A debt beyond the capacity counts as a debt of all of it.
    const Duration most = level.limit->rate.burst_offset();
    const Instant tat =
        saturating_add(now, level.verdict.charged ? level.verdict.reset_after
                                                  : std::min(level.debt, most));
    if (tat <= now) continue;
    Bucket* const bucket = table_of(tag).find(tag);
    if (bucket == nullptr) {
      table_of(tag).insert(Bucket::made(tag, *level.limit, tat), now,
                           work.keep());
    } else {
      bucket->tat = std::clamp(bucket->tat, tat, saturating_add(now, most));
    }
  }
}

template <typename Memory>
Status BucketShards<Memory>::forget(const Plan& plan) {
  Work<0> work(plan.levels.size());
  hash_levels(seed_, plan, &work);
  const Locked<0> locked(&memory_, &work, {plan.at_once, plan.waits_since});
  if (!locked.ok()) return locked.failure();
  for (const std::uint64_t tag : work.tags) {
    Place place = place_of(tag);
    Bucket* const bucket = place.buckets.find(tag);
    if (bucket != nullptr) bucket->tat = kLongAgo;
    Cell* const cell = place.cells.find(tag);
    if (cell != nullptr) place.cells.memory().discard(cell);
  }
  return {};
}

template <typename Memory>
void BucketShards<Memory>::add_stats(StoreStats* stats) {
  const auto add = [stats, now = now()](const auto& table) {
    stats->buckets += table.live(now);
    stats->bytes += table.bytes();
    stats->evictions += table.evictions();
    stats->forgotten_limited += table.forgotten_limited();
  };
  typename Memory::Waiter waiter{true};
  for (std::uint32_t i = 0; i < memory_.shard_count(); ++i) {
    if (!memory_.lock(i, false, &waiter)) continue;
    const Place place = memory_.place(i);
    add(place.buckets);
    add(place.cells);
    memory_.unlock(i);
  }
}

}  // namespace limitree
