// The memory of buckets in a mapped file: see buckets/bucket_shards.hpp.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.hpp"
#include "base/time.hpp"
#include "store/clock.hpp"
#include "store/shared/layout.hpp"
#include "store/shared/mapped_file.hpp"
#include "store/shared/mapped_lines.hpp"
#include "store/shared/process_slots.hpp"

namespace limitree {

struct MixedRequest;  // buckets/mixed_level.hpp

namespace shared {

struct MappedPlace;  // mapped_cells.hpp

// A lock is a word of the file: 0, or the word of its owner's process slot.  A
// process that waits for it asks now and then whether the owner lives.  If the
// owner was killed, the waiting process takes the lock over, and repairs the
// shard. If the owner lives but does not run, the waiting process gives up
// after its timeout.
//
// Processes may have clocks of their own.  No request is decided before the
// last one of its shards, whose time counts for a process that is behind.
class SharedMemory {
 public:
  using Place = MappedPlace;

  // `slot` has been taken.
  SharedMemory(std::unique_ptr<MappedFile> file,
               std::unique_ptr<OwnProcessSlot> slot, Duration timeout);

  std::uint32_t shard_count() const { return shard_count_; }

  // What a request waits for, and then why it fails.
  struct Waiter {
    bool at_once = false;     // it does not sleep
    Duration since{};         // all its locks have one deadline; 0: no wait
    bool put_off = false;     // it would have to sleep
    std::uint64_t owner = 0;  // that does not run
    Instant now{};            // the clock of this process is behind ...
    Instant latest{};         // ... that of others; 0: it is not
  };

  bool lock(std::uint32_t shard, bool has_others, Waiter* waiter) {
    std::uint64_t nobody = 0;
    const std::uint64_t mine = slot_->word();
    if (mine != 0 && words(shard).lock.compare_exchange_strong(
                         nobody, mine, std::memory_order_acquire,
                         std::memory_order_relaxed)) [[likely]] {
      if (any_stalled_.load(std::memory_order_relaxed)) [[unlikely]]
        forget_stalled(shard);
      return true;
    }
    return wait(shard, has_others, waiter);
  }
  void unlock(std::uint32_t shard) {
    words(shard).lock.store(0, std::memory_order_release);
  }

  using Time = shared::Time;
  Time time_of(Instant now) const { return {now, slot_->word()}; }
  Time& latest(std::uint32_t shard) { return words(shard).latest; }
  void set_latest(std::uint32_t shard, Time time) {
    latest(shard).at = time.at;
    if (latest(shard).by != time.by) [[unlikely]]
      latest(shard).by = time.by;
  }
  bool settle(Instant read, const Clock& clock, Time* time, Waiter* waiter);

  // kPending if it was put off; this, too, says who holds the lock.
  Status failure(const Waiter& waiter) const;
  Status full() const;

  MappedBuckets buckets(std::uint32_t shard) {
    return MappedBuckets({file_.get(), &words(shard).buckets,
                          tables_ + shard * shard_bytes_, bucket_lines_});
  }
  Place place(std::uint32_t shard);
  void decided_logs(const MixedRequest& /*ask*/) {
  }  // make_log() keeps the bound

  MappedFile& file() { return *file_; }
  OwnProcessSlot& slot() { return *slot_; }

  ShardWords& words(std::uint32_t shard) const { return words_[shard]; }

 private:
  // The owner of a lock that a request has waited for in vain.  For a while, or
  // until the lock is taken, other requests do not wait for it as long; and
  // until the lock is taken, those that do not sleep look at it only once.
  struct Stalled {
    std::atomic<std::uint64_t> owner{0};
    std::atomic<std::int64_t> until{0};
  };

  bool wait(std::uint32_t shard, bool has_others, Waiter* waiter);
  bool is_stalled(std::uint32_t shard, std::uint64_t owner, Duration now) const;
  bool gives_up(std::uint32_t shard, const Waiter& waiter, bool known,
                Duration now);
  void put_off(std::uint32_t shard, Waiter* waiter);
  bool take_over(std::uint32_t shard, std::uint64_t owner);
  void forget_stalled(std::uint32_t shard) {
    std::atomic<std::uint64_t>& owner = stalled_[shard].owner;
    if (owner.load(std::memory_order_relaxed) != 0) owner = 0;
  }
  Status unavailable(const std::string& what, const char* reason,
                     Code code = Code::kStoreUnavailable) const;

  const std::unique_ptr<MappedFile> file_;
  const std::unique_ptr<OwnProcessSlot> slot_;
  const Duration timeout_;

  // Copies of what file_ says, for the hot path.
  ShardWords* const words_;
  const std::uint64_t tables_;
  const std::uint64_t shard_bytes_;
  const std::uint32_t bucket_lines_;
  const std::uint32_t shard_count_;

  std::atomic<bool> any_stalled_{false};      // ever
  const std::unique_ptr<Stalled[]> stalled_;  // for each shard
};

}  // namespace shared
}  // namespace limitree
