// Buckets in this process's memory.
//
// buckets/bucket_shards.hpp decides, here with spin locks and pages of this
// process.

#pragma once

#include <atomic>
#include <cstdint>

#include "store/buckets/bucket_shards.hpp"
#include "store/clock.hpp"
#include "store/fork_guard.hpp"
#include "store/memory/private_memory.hpp"
#include "store/store.hpp"

namespace limitree {

extern template class BucketShards<PrivateMemory>;

class MemoryStore final : public Store, private ForkGuard {
 public:
  static constexpr std::int64_t kDefaultMaxBuckets = 1'000'000;
  static constexpr std::int64_t kMaxMaxBuckets = std::int64_t{1} << 36;

  // The minimum of max_bytes per bucket of max_buckets.
  static constexpr std::int64_t kLeastBytes = 64;

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
  void before_fork() override { shards_.memory().lock_all(); }
  void after_fork() override { shards_.memory().unlock_all(); }

  const std::int64_t max_buckets_;
  BucketShards<PrivateMemory> shards_;
  // Raised before a lock is taken to forget, compared while one is held: so
  // anything learned is either not written, or forgotten.
  std::atomic<std::uint64_t> forgets_{0};
};

}  // namespace limitree
