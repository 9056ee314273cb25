// One request on its way through the shards: the tags of its levels, and the
// locks that it holds.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/inline_vector.hpp"
#include "base/plan.hpp"
#include "base/status.hpp"
#include "base/time.hpp"
#include "store/buckets/bucket.hpp"
#include "store/buckets/bucket_tag.hpp"
#include "store/buckets/named_tags.hpp"
#include "store/clock.hpp"
#include "store/siphash.hpp"

namespace limitree {

// The data of one request besides its plan: arrays with an entry per level.
//
// Most requests meet one to four levels.  With that number known, the compiler
// unrolls every loop; loops are half of the cost of a small request.
template <std::size_t kLevels>  // 0: any number
struct ShardWork {
  explicit ShardWork(std::size_t /*levels*/) {}
  static constexpr std::size_t count() { return kLevels; }
  std::span<const std::uint64_t> keep() const { return tags; }

  std::uint64_t tags[kLevels];
  Bucket* buckets[kLevels];       // null: there is none
  std::uint32_t shards[kLevels];  // shards to lock: ascending, each once
  bool misses = false;            // one of the buckets does not exist
};

template <>
struct ShardWork<0> {
  explicit ShardWork(std::size_t levels) {
    tags.resize(levels);
    buckets.resize(levels);
    shards.resize(levels);
  }
  std::size_t count() const { return tags.size(); }
  // The tags, as named_tags.hpp wants them.
  std::span<const std::uint64_t> keep() const {
    return count() <= kFewTags ? std::span(tags.data(), count())
                               : std::span(ascending.data(), count());
  }

  InlineVector<std::uint64_t, 8> tags;
  InlineVector<std::uint64_t, 1> ascending;  // of more than kFewTags
  InlineVector<Bucket*, 8> buckets;
  InlineVector<std::uint32_t, 8> shards;
  bool misses = false;
};

// Sets the tags of the levels of `plan`.  Hashes each path once, from front to
// back, and takes the hash so far at the end of each level.
template <std::size_t kLevels>
[[gnu::always_inline]] inline void hash_levels(const SipHash& seed,
                                               const Plan& plan,
                                               ShardWork<kLevels>* work) {
  SipHash state = seed;
  std::uint32_t first = plan.levels[0].first;
  std::uint32_t depth = 0;
  for (std::size_t i = 0; i < work->count(); ++i) {
    const Level& level = plan.levels[i];
    if (level.first != first) [[unlikely]] {
      state = seed;
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
  if constexpr (kLevels == 0) {
    if (work->count() <= kFewTags) return;
    work->ascending.resize(work->count());
    std::ranges::copy(work->tags, work->ascending.begin());
    std::ranges::sort(work->ascending);
  }
}

// The shard of a bucket, of `count`, a power of two.
inline std::uint32_t shard_of(std::uint64_t tag, std::uint32_t count) {
  return static_cast<std::uint32_t>(tag) & (count - 1);
}

// Holds the locks of the shards of all tags, taken in ascending order.
template <typename Memory, std::size_t kLevels>
class ShardLocks {
 public:
  ShardLocks(Memory* memory, ShardWork<kLevels>* work,
             typename Memory::Waiter waiter = {})
      : memory_(*memory), work_(work), waiter_(waiter) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < work->count(); ++i) {
      insert(shard_of(work->tags[i], memory_.shard_count()), &count);
    }
    while (held_ < count) {
      const std::uint32_t shard = work->shards[held_];
      if (memory_.lock(shard, held_ > 0, &waiter_)) [[likely]] {
        ++held_;
      } else if (!waits_alone(shard)) {
        ok_ = false;
        return;
      }
    }
  }
  // Inlined even where an exception unwinds: a call there would keep the
  // members in memory.
  [[gnu::always_inline]] ~ShardLocks() { release(); }
  ShardLocks(const ShardLocks&) = delete;
  ShardLocks& operator=(const ShardLocks&) = delete;

  // Whether it holds all of them, and has a time; otherwise nothing may be
  // touched, and failure() says why.
  bool ok() const { return ok_; }
  Status failure() const { return memory_.failure(waiter_); }

  // Returns the time of the request, which read `now` before it had the locks;
  // ok() may be false then.
  [[gnu::always_inline]] Instant settle(Instant now, const Clock& clock) {
    auto latest = memory_.time_of(now);
    for (std::size_t i = 0; i < held_; ++i) {
      const auto& other = memory_.latest(work_->shards[i]);
      if (other.at > latest.at) latest = other;
    }
    if (latest.at != now) [[unlikely]] {
      ok_ = memory_.settle(now, clock, &latest, &waiter_);
      if (!ok_) return now;
    }
    for (std::size_t i = 0; i < held_; ++i) {
      memory_.set_latest(work_->shards[i], latest);
    }
    return latest.at;
  }

 private:
  [[gnu::always_inline]] void release() {
    for (; held_ > 0; --held_) memory_.unlock(work_->shards[held_ - 1]);
  }

  // Waits for a lock that takes long to get, without the locks that it holds:
  // others need them.  Returns false if the deadline has passed.
  [[gnu::noinline]] bool waits_alone(std::uint32_t shard) {
    if (held_ == 0) return false;
    release();
    if (!memory_.lock(shard, false, &waiter_)) return false;
    memory_.unlock(shard);
    return true;
  }

  // Insertion sort without duplicates.  Moves while it compares: of a loop that
  // only moves, the compiler makes a call of memmove().
  void insert(std::uint32_t shard, std::size_t* count) {
    auto& shards = work_->shards;
    for (std::size_t i = 0; i < *count; ++i) {
      if (shards[i] == shard) return;
    }
    std::size_t at = (*count)++;
    for (; at > 0 && shards[at - 1] > shard; --at) shards[at] = shards[at - 1];
    shards[at] = shard;
  }

  Memory& memory_;
  ShardWork<kLevels>* const work_;
  [[no_unique_address]] typename Memory::Waiter waiter_;
  std::size_t held_ = 0;
  bool ok_ = true;
};

}  // namespace limitree
