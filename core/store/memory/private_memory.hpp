// The memory of buckets in this process's memory.

#ifndef LIMITREE_STORE_MEMORY_PRIVATE_MEMORY_HPP
#define LIMITREE_STORE_MEMORY_PRIVATE_MEMORY_HPP

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/status.hpp"
#include "base/time.hpp"
#include "store/buckets/bucket.hpp"
#include "store/buckets/slot_table.hpp"
#include "store/clock.hpp"
#include "store/memory/pages.hpp"
#include "store/spin_lock.hpp"

namespace limitree {

// The bytes of all logs, shared by the shards of a store.
using LogBytes = std::atomic<std::int64_t>;

// The memory of a table: see slot_table.hpp.
template <typename Slot>
class PrivateLines {
 public:
  using Lines = SlotLines<Slot>;

  class Successor {
   public:
    explicit Successor(std::uint32_t count)
        : pages_(count * std::size_t{Lines::kBytes}),
          count_(pages_.data() == nullptr ? 0 : count) {}
    Lines lines() const { return {static_cast<Slot*>(pages_.data()), count_}; }

   private:
    friend class PrivateLines;
    Pages pages_;
    std::uint32_t count_;
  };

  // Takes no memory before the first slot is needed.  REQUIRES: max_lines > 0.
  PrivateLines(std::uint32_t max_lines)  // NOLINT: implicit
      : max_lines_(max_lines) {}

  Lines lines() const { return {static_cast<Slot*>(pages_.data()), count_}; }
  std::uint32_t max_lines() const { return max_lines_; }
  TableCounts& counts() { return counts_; }
  const TableCounts& counts() const { return counts_; }

  Successor successor(std::uint32_t count) { return Successor(count); }
  void replace(Successor successor) {
    pages_ = std::move(successor.pages_);
    count_ = successor.count_;
  }
  // This process cannot go on for long without memory anyway.
  static bool may_grow() { return true; }
  static void grow_after(std::uint32_t /*evictions*/) {}
  void clear() {
    pages_ = Pages();
    count_ = 0;
    counts_.used = 0;
    counts_.sweep_at = 0;
  }

  void write(Slot* slot, const Slot& value) { *slot = value; }
  void discard(Slot* /*slot*/) {}

 private:
  Pages pages_;
  std::uint32_t count_ = 0;
  std::uint32_t max_lines_;
  TableCounts counts_;
};

using BucketTable = SlotTable<Bucket, PrivateLines<Bucket>>;
extern template class SlotTable<Bucket, PrivateLines<Bucket>>;

struct CellShard;     // private_cells.hpp
struct PrivatePlace;  // likewise
struct MixedRequest;  // buckets/mixed_level.hpp

// The memory of a store: see bucket_shards.hpp.
class PrivateMemory {
 public:
  using Place = PrivatePlace;

  // Room for max_buckets buckets and as many cells.
  PrivateMemory(std::uint32_t shard_count, std::int64_t max_buckets,
                std::int64_t max_log_bytes);
  ~PrivateMemory();
  PrivateMemory(const PrivateMemory&) = delete;
  PrivateMemory& operator=(const PrivateMemory&) = delete;

  std::uint32_t shard_count() const { return shard_count_; }
  struct Waiter {  // never sleeps, and waits for ever
    explicit Waiter(bool /*at_once*/ = false) {}
  };
  bool lock(std::uint32_t shard, bool /*has_others*/, Waiter* /*waiter*/) {
    shards_[shard].lock.lock();
    return true;
  }
  void unlock(std::uint32_t shard) { shards_[shard].lock.unlock(); }
  struct Time {
    Instant at;
  };
  static Time time_of(Instant now) { return {now}; }
  Time& latest(std::uint32_t shard) { return shards_[shard].latest; }
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
  static Status full() { return {}; }  // goes on, as far as it goes

  BucketTable& buckets(std::uint32_t shard) { return shards_[shard].table; }
  Place place(std::uint32_t shard);

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

#endif  // LIMITREE_STORE_MEMORY_PRIVATE_MEMORY_HPP
