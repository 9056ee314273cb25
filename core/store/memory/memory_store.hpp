// Buckets in this process's memory.
//
// The table is split into shards with a lock each.  A request locks the shards
// of all its levels, in ascending order, before it reads the first of them and
// until it has written the last: that makes it one step.  No decision
// allocates; shards grow now and then.

#ifndef LIMITREE_STORE_MEMORY_MEMORY_STORE_HPP
#define LIMITREE_STORE_MEMORY_MEMORY_STORE_HPP

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "store/clock.hpp"
#include "store/fork_guard.hpp"
#include "store/memory/bucket_table.hpp"
#include "store/memory/siphash.hpp"
#include "store/spin_lock.hpp"
#include "store/store.hpp"

namespace limitree {

struct CellShard;  // mixed_level.hpp

class MemoryStore final : public Store, private ForkGuard {
 public:
  static constexpr std::int64_t kDefaultMaxBuckets = 1'000'000;
  static constexpr std::int64_t kMaxMaxBuckets = std::int64_t{1} << 36;

  // What the tables take for each of max_buckets: as many buckets of 16 bytes,
  // and again as many of 32 for the window algorithms.
  static constexpr std::int64_t kTableBytes = 48;
  // The least that max_bytes may be for each of max_buckets.
  static constexpr std::int64_t kLeastBytes = 64;

  // As few as they are, callers may fill logs of a thousand units.
  static constexpr std::int64_t default_max_bytes(std::int64_t max_buckets) {
    return std::max(256 * max_buckets, std::int64_t{64} << 20);
  }

  // Keeps `max_buckets` buckets with a debt at most (but never fewer than
  // four), and as many again that belong to limits of window algorithms.  A
  // bucket that finds no place replaces the least limited of its neighbours;
  // that is rare up to two thirds of the maximum.  Logs share what the tables
  // leave of `max_bytes` (0: the default); what requests under way add may
  // exceed it for a moment.
  // REQUIRES: 1 <= max_buckets <= kMaxMaxBuckets, and max_bytes is 0 or at
  // least kLeastBytes for each of them.
  explicit MemoryStore(std::int64_t max_buckets = kDefaultMaxBuckets,
                       Clock clock = Clock(), std::int64_t max_bytes = 0);
  ~MemoryStore() override;

  Status decide(Plan* plan) override;
  Status reset(const Plan& plan) override;
  StoreStats stats() override;

  // What follows is for a cache of another store's buckets.

  // Judges *plan as at `now`, as if it were to be peeked at; writes nothing.
  // REQUIRES: plan->all_plain().
  void peek(Plan* plan, Instant now);

  // Has the bucket of every plain level owe what `plan`, once decided, left
  // there at `now`, unless it is known to owe more.  Does nothing if forgets()
  // is not `forgets` any more: then the plan may be older than what was
  // forgotten.
  void learn(const Plan& plan, Instant now, std::uint64_t forgets);

  void forget(const Plan& plan);  // the buckets of every level
  void clear();                   // all of them

  // How often anything has been forgotten.
  std::uint64_t forgets() const { return forgets_.load(); }

 private:
  struct Shard;
  template <std::size_t kLevels>  // 0: as many as there are
  struct Work;
  template <std::size_t kLevels>
  class Locked;

  void before_fork() override;
  void after_fork() override;
  std::uint32_t shard_index(std::uint64_t tag) const {
    return static_cast<std::uint32_t>(tag) & (shard_count_ - 1);
  }
  BucketTable& table_of(std::uint64_t tag);
  // Gives up logs until a thirty-second of their bytes is free, but none of
  // `keep`, and has *plan tell if one would deny.  No lock of a shard may be
  // held.
  void collect_logs(std::span<const std::uint64_t> keep, Plan* plan);

  template <std::size_t kLevels>
  Status decide_levels(Plan* plan);
  template <std::size_t kLevels>
  Status decide_mixed(Plan* plan);
  template <std::size_t kLevels>
  void peek_levels(Plan* plan, Instant now);
  template <std::size_t kLevels>
  void hash(const Plan& plan, Work<kLevels>* work) const;
  template <std::size_t kLevels>
  void load(Work<kLevels>* work, Instant now, Plan* plan);
  template <std::size_t kLevels>
  void store(const Work<kLevels>& work, Instant now, Plan* plan);

  const Clock clock_;
  const SipHash seed_;
  const std::int64_t max_buckets_;
  const std::int64_t max_log_bytes_;
  std::atomic<std::int64_t> log_bytes_{0};  // of all shards; outlives them
  SpinLock collecting_;                     // taken before the locks of shards
  const std::uint32_t shard_count_;         // a power of two
  std::unique_ptr<Shard[]> shards_;
  std::unique_ptr<CellShard[]> cells_;  // guarded by the locks of shards_
  // Raised before a lock is taken to forget, compared while one is held: what
  // is learnt is either not written or forgotten.
  std::atomic<std::uint64_t> forgets_{0};
};

}  // namespace limitree

#endif  // LIMITREE_STORE_MEMORY_MEMORY_STORE_HPP
