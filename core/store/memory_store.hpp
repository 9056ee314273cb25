// Buckets in this process's memory.
//
// The table is split into shards with a lock each.  A request locks the shards
// of all its levels, in ascending order, before it reads the first of them and
// until it has written the last: that makes it one step.  No decision
// allocates; shards grow now and then.

#ifndef LIMITREE_STORE_MEMORY_STORE_HPP
#define LIMITREE_STORE_MEMORY_STORE_HPP

#include <atomic>
#include <cstdint>
#include <memory>

#include "store/bucket_table.hpp"
#include "store/clock.hpp"
#include "store/fork_guard.hpp"
#include "store/siphash.hpp"
#include "store/spin_lock.hpp"
#include "store/store.hpp"

namespace limitree {

struct CellShard;  // mixed_level.hpp

class MemoryStore final : public Store, private ForkGuard {
 public:
  static constexpr std::int64_t kDefaultMaxBuckets = 1'000'000;
  static constexpr std::int64_t kMaxMaxBuckets = std::int64_t{1} << 36;

  // For each of max_buckets, what the logs of all buckets may take together.
  static constexpr std::int64_t kLogBytesPerBucket = 128;

  // Keeps `max_buckets` buckets with a debt at most (but never fewer than
  // four), and takes 16 bytes for each.  As many again, of 32 bytes, may belong
  // to limits of window algorithms; and logs have kLogBytesPerBucket for each.
  // A bucket that finds no place replaces the one that owes least among its
  // neighbours; that is rare up to two thirds of the maximum.
  // REQUIRES: 1 <= max_buckets <= kMaxMaxBuckets.
  explicit MemoryStore(std::int64_t max_buckets = kDefaultMaxBuckets,
                       Clock clock = Clock());
  ~MemoryStore() override;

  Status decide(Plan* plan) override;
  Status reset(const Plan& plan) override;
  StoreStats stats() override;

  // What follows is for a cache of another store's buckets.

  // Judges *plan as at `now`, as if it were to be peeked at; writes nothing.
  // REQUIRES: plan->all_plain(), here and in learn().
  void peek(Plan* plan, Instant now);

  // Has every bucket owe what `plan`, once decided, left there at `now`, unless
  // it is known to owe more.  Does nothing if forgets() is not `forgets` any
  // more: then the plan may be older than what was forgotten.
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
  void store(const Work<kLevels>& work, Instant now, const Plan& plan);

  const Clock clock_;
  const SipHash seed_;
  const std::int64_t max_buckets_;
  const std::uint32_t shard_count_;  // a power of two
  std::unique_ptr<Shard[]> shards_;
  std::unique_ptr<CellShard[]> cells_;  // guarded by the locks of shards_
  // Raised before a lock is taken to forget, compared while one is held: what
  // is learnt is either not written or forgotten.
  std::atomic<std::uint64_t> forgets_{0};
};

}  // namespace limitree

#endif  // LIMITREE_STORE_MEMORY_STORE_HPP
