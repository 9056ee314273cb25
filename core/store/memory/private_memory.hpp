// The memory of buckets in this process's memory.

#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/status.hpp"
#include "base/time.hpp"
#include "store/buckets/mixed_level.hpp"
#include "store/clock.hpp"
#include "store/memory/private_cells.hpp"
#include "store/memory/private_lines.hpp"
#include "store/spin_lock.hpp"

namespace limitree {

// The memory of a store: see bucket_shards.hpp.
class PrivateMemory {
 public:
  using Place = PrivatePlace;

  // Room for max_buckets buckets and as many cells.
  PrivateMemory(std::uint32_t shard_count, std::int64_t max_buckets,
                std::int64_t max_log_bytes);
  PrivateMemory(const PrivateMemory&) = delete;
  PrivateMemory& operator=(const PrivateMemory&) = delete;

  std::uint32_t shard_count() const { return shard_count_; }
  struct Waiter {  // never sleeps, and waits forever
    Waiter(bool /*at_once*/ = false, Duration /*since*/ = {}) {}  // NOLINT
  };
  bool lock(std::uint32_t shard, bool /*has_others*/, Waiter* /*waiter*/) {
    shard_at(shard).lock.lock();
    return true;
  }
  void unlock(std::uint32_t shard) { shard_at(shard).lock.unlock(); }
  struct Time {
    Instant at;
  };
  static Time time_of(Instant now) { return {now}; }
  Time& latest(std::uint32_t shard) { return shard_at(shard).latest; }
  void set_latest(std::uint32_t shard, Time time) { latest(shard) = time; }
  // The request must not take place before the last one.  It would find more
  // debt than there can be, as if the clock had stepped back, and give tokens
  // back: see is_held().  But a clock that was really set back is obeyed.
  static bool settle(Instant read, const Clock& clock, Time* time,
                     Waiter* /*waiter*/) {
    time->at = time_after(time->at, read, clock);
    return true;
  }
  static Status failure(const Waiter& /*waiter*/) { return {}; }  // never fails
  static Status full() { return {}; }  // goes on without the bucket

  BucketTable& buckets(std::uint32_t shard) { return shard_at(shard).table; }
  Place place(std::uint32_t shard) {
    return {shard_at(shard).table, cells_.get()[shard].table};
  }

  // Keeps the bytes of all logs below their maximum.
  void decided_logs(const MixedRequest& ask);

  std::int64_t log_bytes() const { return log_bytes_.load(); }
  void clear();

  // For a fork: every lock.
  void lock_all();
  void unlock_all();

 private:
  static Instant time_after(Instant latest, Instant read, const Clock& clock);

  struct alignas(64) Shard {
    SpinLock lock;
    Time latest{kLongAgo};
    BucketTable table{1};
  };
  static_assert(sizeof(Shard) == 64, "a decision reads one line of it");

  // Without the check of operator[], which a decision would make five times.
  Shard& shard_at(std::uint32_t i) { return shards_.get()[i]; }

  // Evicts logs until a thirty-second of their bytes is free, but none of
  // `keep`.  Returns whether one of them would deny.  The caller holds no lock
  // of a shard.
  bool collect_logs(Instant now, std::span<const std::uint64_t> keep);

  const std::int64_t max_log_bytes_;
  LogBytes log_bytes_{0};            // of all shards; outlives them
  SpinLock collecting_;              // taken before the locks of shards
  const std::uint32_t shard_count_;  // a power of two
  std::unique_ptr<Shard[]> shards_;
  std::unique_ptr<CellShard[]> cells_;  // guarded by the locks of shards_
};

}  // namespace limitree
