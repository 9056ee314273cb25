#include "store/memory_store.hpp"

#include <algorithm>
#include <bit>
#include <mutex>

#include "base/judge.hpp"

namespace limitree {

namespace {

// Enough shards that threads seldom meet, few enough that each is worth its
// page of memory.
std::uint32_t shard_count_for(std::int64_t max_buckets) {
  const auto shards = static_cast<std::uint64_t>(max_buckets / 4096);
  return static_cast<std::uint32_t>(
      std::bit_floor(std::clamp<std::uint64_t>(shards, 1, 4096)));
}

// Slots for a third more than max_buckets: at a load of three quarters next to
// no window is full.
std::uint32_t max_lines_for(std::int64_t max_buckets, std::uint32_t shards) {
  const std::int64_t slots = max_buckets + (max_buckets + 2) / 3;
  const std::int64_t per_line =
      std::int64_t{BucketTable::kSlotsPerLine} * shards;
  return static_cast<std::uint32_t>((slots + per_line - 1) / per_line);
}

// Tags of SipHash::absorb, so that a pattern's text, a caller's segment of the
// same bytes and a limit's name never give the same words.
constexpr std::uint64_t kSegmentTag = 0;
constexpr std::uint64_t kPatternTag = 1;
constexpr std::uint64_t kSuffixTag = 2;

void absorb(const Segment& segment, SipHash* hash) {
  hash->absorb(segment.text, segment.kind == Segment::Kind::kPattern
                                 ? kPatternTag
                                 : kSegmentTag);
}

std::uint64_t tag_of(SipHash hash, const Limit& limit) {
  if (!limit.suffix.empty()) hash.absorb(limit.suffix, kSuffixTag);
  const std::uint64_t tag = hash.finish();
  return tag != 0 ? tag : 1;  // 0 marks a slot that was never used
}

}  // namespace

struct alignas(64) MemoryStore::Shard {
  SpinLock lock;
  BucketTable table{1};
};

// Where a level's bucket is.
struct MemoryStore::Place {
  std::uint64_t tag;
  std::uint32_t shard;
  Bucket* bucket;  // null if absent
};

// Holds the locks of all shards of some places.
class MemoryStore::Locked {
 public:
  Locked(Shard* shards, const Place* places, std::size_t count)
      : shards_(shards) {
    for (std::size_t i = 0; i < count; ++i) insert(places[i].shard);
    for (const std::uint32_t shard : ordered_) shards_[shard].lock.lock();
  }
  ~Locked() {
    for (const std::uint32_t shard : ordered_) shards_[shard].lock.unlock();
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  // Insertion sort, each shard once: a handful, and mostly one to three.
  void insert(std::uint32_t shard) {
    std::size_t at = ordered_.size();
    while (at > 0 && ordered_[at - 1] >= shard) --at;
    if (at < ordered_.size() && ordered_[at] == shard) return;
    ordered_.push_back(shard);
    for (std::size_t i = ordered_.size() - 1; i > at; --i) {
      ordered_[i] = ordered_[i - 1];
    }
    ordered_[at] = shard;
  }

  Shard* const shards_;
  InlineVector<std::uint32_t, 8> ordered_;
};

MemoryStore::MemoryStore(std::int64_t max_buckets, Clock clock)
    : clock_(clock),
      seed_(SipKey::of_process()),
      max_buckets_(max_buckets),
      shard_count_(shard_count_for(max_buckets)),
      shards_(new Shard[shard_count_]) {
  const std::uint32_t max_lines = max_lines_for(max_buckets, shard_count_);
  for (std::uint32_t i = 0; i < shard_count_; ++i) {
    shards_[i].table = BucketTable(max_lines);
  }
  watch_forks();
}

MemoryStore::~MemoryStore() { unwatch_forks(); }

void MemoryStore::before_fork() {
  for (std::uint32_t i = 0; i < shard_count_; ++i) shards_[i].lock.lock();
}

void MemoryStore::after_fork() {
  for (std::uint32_t i = 0; i < shard_count_; ++i) shards_[i].lock.unlock();
}

// Hashes each path once, from front to back, and takes a copy of the state
// wherever a level ends.
void MemoryStore::locate(const Plan& plan, Place* places) const {
  SipHash hash = seed_;
  std::uint32_t first = 0;
  std::uint32_t depth = 0;
  for (const Level& level : plan.levels) {
    if (level.first != first || level.depth < depth) {
      hash = seed_;
      first = level.first;
      depth = 0;
    }
    for (; depth < level.depth; ++depth) {
      absorb(plan.segments[first + depth], &hash);
    }
    const std::uint64_t tag = tag_of(hash, *level.limit);
    const auto shard = static_cast<std::uint32_t>(tag) & (shard_count_ - 1);
    *places++ = {tag, shard, nullptr};
  }
}

Status MemoryStore::decide(Plan* plan) {
  const std::size_t count = plan->levels.size();
  InlineVector<Place, 6> places;
  InlineVector<std::uint64_t, 6> tags;
  for (std::size_t i = 0; i < count; ++i) places.push_back({});
  locate(*plan, places.data());
  for (const Place& place : places) tags.push_back(place.tag);
  const Instant now = clock_.now();

  // From here on nothing allocates, so nothing can be left half done.

  const Locked locked(shards_.get(), places.data(), count);
  for (const Place& place : places) {
    shards_[place.shard].table.prefetch(place.tag);
  }
  for (std::size_t i = 0; i < count; ++i) {
    Place& place = places[i];
    place.bucket = shards_[place.shard].table.find(place.tag);
    plan->levels[i].debt = place.bucket == nullptr
                               ? Duration::zero()
                               : saturating_sub(place.bucket->tat, now);
  }
  judge(plan);

  // Buckets that exist first: an insert may move them.
  for (std::size_t i = 0; i < count; ++i) {
    const Verdict& verdict = plan->levels[i].verdict;
    if (!verdict.charged || places[i].bucket == nullptr) continue;
    // Without debt the bucket is gone, also for a clock that steps back.
    places[i].bucket->tat = verdict.reset_after == Duration::zero()
                                ? kLongAgo
                                : saturating_add(now, verdict.reset_after);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Verdict& verdict = plan->levels[i].verdict;
    if (!verdict.charged || places[i].bucket != nullptr) continue;
    const Instant tat = saturating_add(now, verdict.reset_after);
    if (tat <= now) continue;  // at the end of time
    shards_[places[i].shard].table.insert(places[i].tag, tat, now,
                                          {tags.data(), count});
  }
  return {};
}

Status MemoryStore::reset(const Plan& plan) {
  InlineVector<Place, 6> places;
  for (std::size_t i = 0; i < plan.levels.size(); ++i) places.push_back({});
  locate(plan, places.data());
  const Locked locked(shards_.get(), places.data(), places.size());
  for (const Place& place : places) {
    Bucket* const bucket = shards_[place.shard].table.find(place.tag);
    if (bucket != nullptr) bucket->tat = kLongAgo;
  }
  return {};
}

StoreStats MemoryStore::stats() {
  StoreStats stats;
  stats.max_buckets = max_buckets_;
  const Instant now = clock_.now();
  for (std::uint32_t i = 0; i < shard_count_; ++i) {
    Shard& shard = shards_[i];
    const std::lock_guard lock(shard.lock);
    stats.buckets += shard.table.live(now);
    stats.bytes += shard.table.bytes();
    stats.evictions += shard.table.evictions();
  }
  return stats;
}

}  // namespace limitree
