// Buckets in this process's memory.
//
// The table is split into shards, each with a lock.  A request locks the shards
// of all its levels, in ascending order, before it reads the first and until it
// has written the last: that makes it one step.  Decisions do not allocate,
// except that shards grow now and then.

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

  // The bytes of the tables per bucket of max_buckets: a bucket of 16 bytes,
  // and a cell of 32 for window algorithms.
  static constexpr std::int64_t kTableBytes = 48;
  // The minimum of max_bytes per bucket of max_buckets.
  static constexpr std::int64_t kLeastBytes = 64;

  // Even with few buckets, callers may fill logs of a thousand units.
  static constexpr std::int64_t default_max_bytes(std::int64_t max_buckets) {
    return std::max(256 * max_buckets, std::int64_t{64} << 20);
  }

  // Keeps at most `max_buckets` buckets with a debt (but never fewer than
  // four), and as many again for limits of window algorithms.  A bucket without
  // a free place replaces the least limited of its neighbors, which is rare
  // below two thirds of the maximum.  Logs share what the tables leave of
  // `max_bytes` (0: the default); requests under way may exceed it for a
  // moment.
  // REQUIRES: 1 <= max_buckets <= kMaxMaxBuckets; max_bytes is 0 or at least
  // kLeastBytes for each of them.
  explicit MemoryStore(std::int64_t max_buckets = kDefaultMaxBuckets,
                       Clock clock = Clock(), std::int64_t max_bytes = 0);
  ~MemoryStore() override;

  Status decide(Plan* plan) override;
  Status reset(const Plan& plan) override;
  StoreStats stats() override;

  // The functions below are for a cache of another store's buckets.

  // Judges *plan at `now`, as a peek; writes nothing.
  // REQUIRES: plan->all_plain().
  void peek(Plan* plan, Instant now);

  // Sets the bucket of every plain level to what `plan`, already decided, left
  // there at `now`, unless it is known to owe more.  Does nothing if forgets()
  // is no longer `forgets`: the plan may then be older than what was forgotten.
  void learn(const Plan& plan, Instant now, std::uint64_t forgets);

  void forget(const Plan& plan);  // buckets of all levels
  void clear();                   // all buckets

  // How often something was forgotten.
  std::uint64_t forgets() const { return forgets_.load(); }

 private:
  struct Shard;
  template <std::size_t kLevels>  // 0: any number
  struct Work;
  template <std::size_t kLevels>
  class Locked;

  void before_fork() override;
  void after_fork() override;
  std::uint32_t shard_index(std::uint64_t tag) const {
    return static_cast<std::uint32_t>(tag) & (shard_count_ - 1);
  }
  BucketTable& table_of(std::uint64_t tag);
  // Evicts logs until a thirty-second of their bytes is free, but none of
  // `keep`.  Notes in *plan if one of them would deny.  The caller holds no
  // lock of a shard.
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
  // Raised before a lock is taken to forget, compared while one is held: so
  // anything learned is either not written, or forgotten.
  std::atomic<std::uint64_t> forgets_{0};
};

}  // namespace limitree

#endif  // LIMITREE_STORE_MEMORY_MEMORY_STORE_HPP
