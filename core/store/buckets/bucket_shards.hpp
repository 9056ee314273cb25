// The buckets of a store, in shards with a lock each, and the decisions about
// them.
//
// A request locks the shards of all its levels, in ascending order, before it
// reads the first and until it has written the last: that makes it one step.
// Decisions do not allocate, except that shards grow now and then.
//
// Only the file that instantiates the template includes decide.hpp, which
// defines its functions.  A Memory has the shards:
//
//   std::uint32_t shard_count()      a power of two
//   Waiter{at_once, since}           what one request knows of its waits: see
//                                    Plan::at_once and waits_since
//   bool lock(shard, has_others, Waiter*)   false: the deadline has passed, or
//                                    a request with other locks should release
//                                    them first
//   void unlock(shard)
//   Time                             has `at`, an Instant
//   Time time_of(now)                that of a request which reads the clock
//   Time& latest(shard)              of the last request there
//   void set_latest(shard, Time)
//   bool settle(read, clock, Time*, Waiter*)   sets the time of a request that
//                                    comes after the last one, at *Time, but
//                                    has read an earlier one; false: it cannot
//   Status failure(Waiter)           why lock() or settle() have failed
//   Status full()                    the error of a bucket without memory
//   buckets(shard)                   a SlotTable of Bucket
//   Place place(shard)               both tables: mixed_level.hpp
//   void decided_logs(ask)           called without locks after a plan that
//                                    may have made logs

#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "base/inline_vector.hpp"
#include "base/plan.hpp"
#include "store/buckets/bucket.hpp"
#include "store/buckets/shard_work.hpp"
#include "store/clock.hpp"
#include "store/siphash.hpp"
#include "store/store.hpp"

namespace limitree {

struct MixedRequest;  // mixed_level.hpp
template <typename Place>
class MixedLevel;  // the same

// Enough shards that threads seldom collide, few enough that each is worth its
// page of memory.
inline std::uint32_t shard_count_for(std::int64_t max_buckets) {
  const auto shards = static_cast<std::uint64_t>(max_buckets / 4096);
  return static_cast<std::uint32_t>(
      std::bit_floor(std::clamp<std::uint64_t>(shards, 1, 4096)));
}

// The bytes of the tables for each of max_buckets: a bucket of 16 bytes, and a
// cell of 32 for window algorithms.
inline constexpr std::int64_t kTableBytes = 48;

// What the tables leave for logs of `max_bytes`; 0: of the default.  Even with
// few buckets, callers may fill logs of a thousand units.
constexpr std::int64_t log_bytes_of(std::int64_t max_buckets,
                                    std::int64_t max_bytes) {
  if (max_bytes == 0) {
    max_bytes = std::max(256 * max_buckets, std::int64_t{64} << 20);
  }
  return max_bytes - kTableBytes * max_buckets;
}

template <typename Memory>
class BucketShards {
 public:
  using Place = typename Memory::Place;

  template <typename... Args>  // of Memory's constructor
  BucketShards(Clock clock, const SipKey& key, Args&&... args)
      : memory_(std::forward<Args>(args)...), clock_(clock), seed_(key) {}

  Memory& memory() { return memory_; }
  Instant now() const { return clock_.now(); }

  // As Store::decide().
  Status decide(Plan* plan);

  // As Store::reset().
  Status forget(const Plan& plan);

  // See MemoryStore.
  void peek(Plan* plan, Instant now);
  template <typename IsCurrent>
  void learn(const Plan& plan, Instant now, IsCurrent is_current);

  // Adds the content and the history of the tables.
  void add_stats(StoreStats* stats);

 private:
  template <std::size_t kLevels>
  using Work = ShardWork<kLevels>;
  template <std::size_t kLevels>
  using Locked = ShardLocks<Memory, kLevels>;
  template <std::size_t kLevels>
  using Mixed =
      std::conditional_t<kLevels == 0, InlineVector<MixedLevel<Place>, 8>,
                         RawArray<MixedLevel<Place>, kLevels>>;

  [[gnu::always_inline]] decltype(auto) table_of(std::uint64_t tag) {
    return memory_.buckets(shard_of(tag, memory_.shard_count()));
  }
  Place place_of(std::uint64_t tag) {
    return memory_.place(shard_of(tag, memory_.shard_count()));
  }

  template <std::size_t kLevels>
  Status decide_levels(Plan* plan);
  template <std::size_t kLevels>
  Status decide_mixed(Plan* plan);
  template <std::size_t kLevels>
  Status decide_locked(const MixedRequest& ask, const Work<kLevels>& work);
  template <std::size_t kLevels>
  void peek_levels(Plan* plan, Instant now);
  template <std::size_t kLevels>
  void load(Work<kLevels>* work, Instant now, Plan* plan);
  template <std::size_t kLevels>
  bool reserve(const Work<kLevels>& work, Instant now, Plan* plan);
  template <std::size_t kLevels>
  void store(const Work<kLevels>& work, Instant now, Plan* plan);

  Memory memory_;
  const Clock clock_;
  const SipHash seed_;
};

}  // namespace limitree
