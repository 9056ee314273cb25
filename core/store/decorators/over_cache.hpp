// Counters that are known to be over their limit until their windows end.
//
// An option for limits that count what does not fit (see Charge), and off
// unless a caller makes one: it spares the store many requests, but their hits
// are not counted, and what other processes give back is not seen before the
// window ends.  It is not a store, as DenyCache is, because a request may meet
// both counters that are known and others: the caller takes those that are
// known out of its plan, asks the store about the rest, and shows the answer.
//
// Several threads may use it at once.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/inline_vector.hpp"
#include "base/plan.hpp"
#include "store/clock.hpp"
#include "store/fork_guard.hpp"
#include "store/memory/private_memory.hpp"
#include "store/siphash.hpp"
#include "store/spin_lock.hpp"
#include "store/store.hpp"

namespace limitree {

class OverCache final : private ForkGuard {
 public:
  // The memory that one counter takes.
  static constexpr std::int64_t kBytes = sizeof(Bucket);

  struct Stats {
    std::int64_t lookups = 0;
    std::int64_t hits = 0;       // of the lookups: known to be over
    std::int64_t counters = 0;   // known now
    std::int64_t evictions = 0;  // forgotten to make room
  };

  using CachedLevels = InlineVector<Level, 6>;

  // Knows at most `max_counters`, but never fewer than four for each shard.
  // `clock` must run at the speed of the store's.
  OverCache(std::int64_t max_counters, Clock clock);
  ~OverCache() override;

  // Moves the levels of an authorize or a peek that are known to be over their
  // limits from *plan to *known, in their order and with their verdicts; their
  // `before` is not known, and set to the least that it can be.  If any
  // of them counts, other levels under Charge::kAllOrDenying get cost 0: the
  // request is denied.  Returns what learn() has to know.
  Checkpoint take_cached(Plan* plan, CachedLevels* known);

  // Learns from `plan`, which a store has decided since take_cached().  A
  // refund makes it forget.
  void learn(const Plan& plan, const Checkpoint& checkpoint);

  // Must also be called if a refund has failed: it may have happened.
  void forget(const Plan& plan);

  Stats stats();

 private:
  static constexpr std::size_t kShards = 16;

  struct alignas(64) Shard {
    SpinLock lock;
    BucketTable table{1};
    std::int64_t lookups = 0;
    std::int64_t hits = 0;
  };

  void before_fork() override;
  void after_fork() override;
  std::uint64_t tag(const Plan& plan, const Level& level) const;
  Shard& shard_of(std::uint64_t tag) { return shards_[tag % kShards]; }
  bool find(Instant now, const Plan& plan, Level* level);

  const Clock clock_;
  const SipHash seed_;
  std::array<Shard, kShards> shards_;
  // Raised before a lock is taken to forget, compared while one is held.
  std::atomic<std::uint64_t> forgets_{0};
};

}  // namespace limitree
