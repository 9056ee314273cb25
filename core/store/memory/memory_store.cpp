#include "store/memory/memory_store.hpp"

#include <algorithm>
#include <bit>
#include <mutex>
#include <span>

#include "base/inline_vector.hpp"
#include "base/judge.hpp"
#include "store/memory/bucket_tag.hpp"
#include "store/memory/log_collection.hpp"
#include "store/memory/mixed_level.hpp"

namespace limitree {

namespace {

// Enough shards that threads seldom collide, few enough that each is worth its
// page of memory.
std::uint32_t shard_count_for(std::int64_t max_buckets) {
  const auto shards = static_cast<std::uint64_t>(max_buckets / 4096);
  return static_cast<std::uint32_t>(
      std::bit_floor(std::clamp<std::uint64_t>(shards, 1, 4096)));
}

}  // namespace

struct alignas(64) MemoryStore::Shard {
  SpinLock lock;
  BucketTable table{1};
};

// The data of one request besides its plan: arrays with an entry per level.
//
// Most requests meet one to four levels.  With that number known, the compiler
// unrolls every loop; loops are half of the cost of a small request.
template <std::size_t kLevels>
struct MemoryStore::Work {
  explicit Work(std::size_t /*levels*/) {}
  static constexpr std::size_t count() { return kLevels; }

  std::uint64_t tags[kLevels];
  Bucket* buckets[kLevels];       // null: there is none
  std::uint32_t shards[kLevels];  // shards to lock: ascending, each once
};

template <>
struct MemoryStore::Work<0> {
  explicit Work(std::size_t levels) {
    tags.resize(levels);
    buckets.resize(levels);
    shards.resize(levels);
  }
  std::size_t count() const { return tags.size(); }

  InlineVector<std::uint64_t, 8> tags;
  InlineVector<Bucket*, 8> buckets;
  InlineVector<std::uint32_t, 8> shards;
};

// Holds the locks of the shards of some tags.
template <std::size_t kLevels>
class MemoryStore::Locked {
 public:
  Locked(MemoryStore* store, Work<kLevels>* work)
      : all_(store->shards_.get()), work_(work) {
    for (std::size_t i = 0; i < work->count(); ++i) {
      insert(store->shard_index(work->tags[i]));
    }
    for (std::size_t i = 0; i < count_; ++i) all_[work->shards[i]].lock.lock();
  }
  ~Locked() {
    for (std::size_t i = 0; i < count_; ++i) {
      all_[work_->shards[i]].lock.unlock();
    }
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  // Insertion sort without duplicates.
  void insert(std::uint32_t shard) {
    auto& shards = work_->shards;
    std::size_t at = count_;
    while (at > 0 && shards[at - 1] >= shard) --at;
    if (at < count_ && shards[at] == shard) return;
    for (std::size_t i = count_++; i > at; --i) shards[i] = shards[i - 1];
    shards[at] = shard;
  }

  Shard* const all_;
  Work<kLevels>* const work_;
  std::size_t count_ = 0;
};

MemoryStore::MemoryStore(std::int64_t max_buckets, Clock clock,
                         std::int64_t max_bytes)
    : clock_(clock),
      seed_(SipKey::of_process()),
      max_buckets_(max_buckets),
      max_log_bytes_(
          (max_bytes != 0 ? max_bytes : default_max_bytes(max_buckets)) -
          kTableBytes * max_buckets),
      shard_count_(shard_count_for(max_buckets)),
      shards_(new Shard[shard_count_]),
      cells_(new CellShard[shard_count_]) {
  const std::uint32_t lines = BucketTable::lines_for(max_buckets, shard_count_);
  const std::uint32_t cells = CellTable::lines_for(max_buckets, shard_count_);
  for (std::uint32_t i = 0; i < shard_count_; ++i) {
    shards_[i].table = BucketTable(lines);
    cells_[i].table = CellTable(cells);
    cells_[i].log_bytes = &log_bytes_;
  }
  watch_forks();
}

inline BucketTable& MemoryStore::table_of(std::uint64_t tag) {
  return shards_[shard_index(tag)].table;
}

MemoryStore::~MemoryStore() { unwatch_forks(); }

void MemoryStore::before_fork() {
  collecting_.lock();
  for (std::uint32_t i = 0; i < shard_count_; ++i) shards_[i].lock.lock();
}

void MemoryStore::after_fork() {
  for (std::uint32_t i = 0; i < shard_count_; ++i) shards_[i].lock.unlock();
  collecting_.unlock();
}

// Hashes each path once, from front to back, and takes the hash so far at the
// end of each level.
template <std::size_t kLevels>
[[gnu::always_inline]] inline void MemoryStore::hash(
    const Plan& plan, Work<kLevels>* work) const {
  SipHash state = seed_;
  std::uint32_t first = plan.levels[0].first;
  std::uint32_t depth = 0;
  for (std::size_t i = 0; i < work->count(); ++i) {
    const Level& level = plan.levels[i];
    if (level.first != first) {
      state = seed_;
      first = level.first;
      depth = 0;
    }
    for (; depth < level.depth; ++depth) {
      const Segment& segment = plan.segments[first + depth];
      state.absorb(segment.text, segment.kind == Segment::Kind::kPattern
                                     ? kPatternTag
                                     : kSegmentTag);
    }
    work->tags[i] = tag_of(state, *level.limit);
  }
}

Status MemoryStore::decide(Plan* plan) {
  switch (plan->levels.size()) {
    case 1:
      return decide_levels<1>(plan);
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

template <std::size_t kLevels>
Status MemoryStore::decide_levels(Plan* plan) {
  Work<kLevels> work(plan->levels.size());
  bool plain = true;
  for (std::size_t i = 0; i < work.count(); ++i) {
    plain &= plan->levels[i].limit->is_plain();
  }
  if (!plain) [[unlikely]]
    return decide_mixed<kLevels>(plan);
  // The hash overlaps with reading the clock, but not the other way round.
  const Instant now = clock_.now();
  hash(*plan, &work);
  const Locked<kLevels> locked(this, &work);
  load(&work, now, plan);
  if (plan->operation == Operation::kAuthorize) [[likely]] {
    judge_charge<true>(Operation::kAuthorize, plan->levels.data(),
                       work.count());
  } else {
    judge(plan->operation, plan->levels.data(), work.count());
  }
  store(work, now, plan);
  return {};
}

template <std::size_t kLevels>
void MemoryStore::load(Work<kLevels>* work, Instant now, Plan* plan) {
  for (std::size_t i = 0; work->count() > 1 && i < work->count(); ++i) {
    table_of(work->tags[i]).prefetch(work->tags[i]);
  }
  for (std::size_t i = 0; i < work->count(); ++i) {
    Bucket* const bucket = table_of(work->tags[i]).find(work->tags[i]);
    work->buckets[i] = bucket;
    plan->levels[i].debt =
        bucket == nullptr ? Duration::zero() : saturating_sub(bucket->tat, now);
  }
}

// Writes existing buckets first, because an insert may move them.
template <std::size_t kLevels>
void MemoryStore::store(const Work<kLevels>& work, Instant now, Plan* plan) {
  bool inserts = false;
  for (std::size_t i = 0; i < work.count(); ++i) {
    const Level& level = plan->levels[i];
    const Verdict& verdict = level.verdict;
    if (!verdict.charged && !is_held(plan->operation, level)) continue;
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
  if (!inserts) return;
  for (std::size_t i = 0; i < work.count(); ++i) {
    const Level& level = plan->levels[i];
    if (!level.verdict.charged || work.buckets[i] != nullptr) continue;
    const Instant tat = saturating_add(now, level.verdict.reset_after);
    if (tat <= now) continue;  // at the end of time
    const Bucket bucket = Bucket::made(work.tags[i], *level.limit, tat);
    plan->forgot |= table_of(work.tags[i])
                        .insert(bucket, now, {&work.tags[0], work.count()});
  }
}

// decide_levels() for levels of all kinds.
template <std::size_t kLevels>
[[gnu::noinline]] Status MemoryStore::decide_mixed(Plan* plan) {
  Work<kLevels> work(plan->levels.size());
  InlineVector<MixedLevel, kLevels == 0 ? 8 : kLevels> mixed;
  mixed.resize(work.count());
  const Instant now = clock_.now();
  hash(*plan, &work);
  const std::span<const std::uint64_t> tags{&work.tags[0], work.count()};
  {
    const Locked<kLevels> locked(this, &work);
    for (std::size_t i = 0; i < work.count(); ++i) {
      const std::uint64_t tag = work.tags[i];
      Status status =
          mixed[i].evaluate(*plan, &plan->levels[i], tag, now, &table_of(tag),
                            &cells_[shard_index(tag)]);
      if (status.ok()) continue;
      for (std::size_t k = 0; k < i; ++k) mixed[k].release();
      return status;
    }
    judge(plan->operation, plan->levels.data(), work.count());
    bool inserts = false;
    for (std::size_t i = 0; i < work.count(); ++i) {
      const Level& level = plan->levels[i];
      if (!level.verdict.charged) {
        mixed[i].release();
        if (is_held(plan->operation, level)) mixed[i].hold(level, now);
      } else if (mixed[i].exists()) {
        mixed[i].update(level, now);
      } else {
        inserts = true;
      }
    }
    for (std::size_t i = 0; inserts && i < work.count(); ++i) {
      const Level& level = plan->levels[i];
      if (!level.verdict.charged || mixed[i].exists()) continue;
      const std::uint64_t tag = tags[i];
      plan->forgot |= mixed[i].insert(level, now, &table_of(tag),
                                      &cells_[shard_index(tag)], tags);
    }
  }
  if (log_bytes_.load(std::memory_order_relaxed) > max_log_bytes_) {
    collect_logs(tags, plan);
  }
  return {};
}

[[gnu::noinline]] void MemoryStore::collect_logs(
    std::span<const std::uint64_t> keep, Plan* plan) {
  const std::unique_lock alone(collecting_, std::try_to_lock);
  if (!alone.owns_lock()) return;  // another thread does it
  LogCollection collection(clock_.now(), keep);
  for (std::uint32_t i = 0; i < shard_count_; ++i) {
    const std::lock_guard lock(shards_[i].lock);
    collection.look(&cells_[i].table);
  }
  const std::int64_t excess = log_bytes_.load() - max_log_bytes_;
  if (excess <= 0) return;
  collection.aim(excess + max_log_bytes_ / 32);
  for (std::uint32_t i = 0; i < shard_count_; ++i) {
    const std::lock_guard lock(shards_[i].lock);
    plan->forgot |= collection.take(&cells_[i].table);
  }
}

void MemoryStore::peek(Plan* plan, Instant now) {
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

template <std::size_t kLevels>
void MemoryStore::peek_levels(Plan* plan, Instant now) {
  Work<kLevels> work(plan->levels.size());
  hash(*plan, &work);
  {
    const Locked<kLevels> locked(this, &work);
    load(&work, now, plan);
  }
  judge_charge<true>(Operation::kPeek, plan->levels.data(), work.count());
}

void MemoryStore::learn(const Plan& plan, Instant now, std::uint64_t forgets) {
  Work<0> work(plan.levels.size());
  hash(plan, &work);
  const Locked<0> locked(this, &work);
  if (forgets_.load() != forgets) return;
  for (std::size_t i = 0; i < work.count(); ++i) {
    const std::uint64_t tag = work.tags[i];
    const Level& level = plan.levels[i];
    if (!level.limit->is_plain()) continue;
    // A debt beyond the capacity counts as a debt of all of it.
    const Duration most = level.limit->rate.burst_offset();
    const Instant tat =
        saturating_add(now, level.verdict.charged ? level.verdict.reset_after
                                                  : std::min(level.debt, most));
    if (tat <= now) continue;
    Bucket* const bucket = table_of(tag).find(tag);
    if (bucket == nullptr) {
      table_of(tag).insert(Bucket::made(tag, *level.limit, tat), now,
                           {&work.tags[0], work.count()});
    } else {
      bucket->tat = std::clamp(bucket->tat, tat, saturating_add(now, most));
    }
  }
}

void MemoryStore::clear() {
  ++forgets_;
  for (std::uint32_t i = 0; i < shard_count_; ++i) {
    const std::lock_guard lock(shards_[i].lock);
    shards_[i].table.clear();
    cells_[i].table.clear();
  }
}

Status MemoryStore::reset(const Plan& plan) {
  forget(plan);
  return {};
}

void MemoryStore::forget(const Plan& plan) {
  ++forgets_;
  Work<0> work(plan.levels.size());
  hash(plan, &work);
  const Locked<0> locked(this, &work);
  for (const std::uint64_t tag : work.tags) {
    Bucket* const bucket = table_of(tag).find(tag);
    if (bucket != nullptr) bucket->tat = kLongAgo;
    Cell* const cell = cells_[shard_index(tag)].table.find(tag);
    if (cell != nullptr) cell->discard();
  }
}

StoreStats MemoryStore::stats() {
  StoreStats stats;
  stats.max_buckets = max_buckets_;
  stats.bytes = log_bytes_.load();
  const auto add = [&stats, now = clock_.now()](const auto& table) {
    stats.buckets += table.live(now);
    stats.bytes += table.bytes();
    stats.evictions += table.evictions();
    stats.forgotten_limited += table.forgotten_limited();
  };
  for (std::uint32_t i = 0; i < shard_count_; ++i) {
    const std::lock_guard lock(shards_[i].lock);
    add(shards_[i].table);
    add(cells_[i].table);
  }
  return stats;
}

}  // namespace limitree
