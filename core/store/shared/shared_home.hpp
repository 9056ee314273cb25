// The home of buckets in a mapped file: see buckets/bucket_shards.hpp.

#ifndef LIMITREE_STORE_SHARED_SHARED_HOME_HPP
#define LIMITREE_STORE_SHARED_SHARED_HOME_HPP

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "base/status.hpp"
#include "base/time.hpp"
#include "store/shared/layout.hpp"
#include "store/shared/mapped_file.hpp"
#include "store/shared/mapped_lines.hpp"
#include "store/shared/seats.hpp"

namespace limitree {

struct MixedAsk;  // buckets/mixed_level.hpp

namespace shared {

struct MappedPlace;  // mapped_cells.hpp

// A lock is a word of the file: 0, or the word of its owner's seat.  A process
// that waits for it asks now and then whether the owner lives.  If the owner
// was killed, the waiting process takes the lock over, and repairs the shard.
// If the owner lives but does not run, it gives up after its timeout.
class SharedHome {
 public:
  using Place = MappedPlace;

  // `seat` has been taken.
  SharedHome(std::unique_ptr<MappedFile> file, std::unique_ptr<OwnSeat> seat,
             Duration timeout);

  std::uint32_t shard_count() const { return shard_count_; }

  // When a request began to wait for its locks; all of them have one deadline.
  struct Waiter {
    Duration since{};  // 0: it has not waited
  };

  bool lock(std::uint32_t shard, Waiter* waiter) {
    std::uint64_t nobody = 0;
    const std::uint64_t mine = seat_->word();
    if (mine != 0 && words(shard).lock.compare_exchange_strong(
                         nobody, mine, std::memory_order_acquire,
                         std::memory_order_relaxed)) [[likely]] {
      return true;
    }
    return wait(shard, waiter);
  }
  void unlock(std::uint32_t shard) {
    words(shard).lock.store(0, std::memory_order_release);
  }
  Instant& latest(std::uint32_t shard) { return words(shard).latest; }

  Status busy() const;
  Status full() const;

  MappedBuckets buckets(std::uint32_t shard) {
    return MappedBuckets({file_.get(), &words(shard).buckets,
                          tables_ + shard * shard_bytes_, bucket_lines_});
  }
  Place place(std::uint32_t shard);
  void decided_logs(const MixedAsk& /*ask*/) {}  // make_log() keeps the bound

  MappedFile& file() { return *file_; }
  OwnSeat& seat() { return *seat_; }

  ShardWords& words(std::uint32_t shard) const { return words_[shard]; }

 private:
  bool wait(std::uint32_t shard, Waiter* waiter);
  bool gives_up(std::uint64_t owner, Duration since);
  bool take_over(std::uint32_t shard, std::uint64_t owner);

  const std::unique_ptr<MappedFile> file_;
  const std::unique_ptr<OwnSeat> seat_;
  const Duration timeout_;

  // Copies of what file_ says, for the hot path.
  ShardWords* const words_;
  const std::uint64_t tables_;
  const std::uint64_t shard_bytes_;
  const std::uint32_t bucket_lines_;
  const std::uint32_t shard_count_;

  // The owner for whom a request has waited in vain.  Until then, or until it
  // is seen to run, other requests do not wait for it as long.
  std::atomic<std::uint64_t> stalled_{0};
  std::atomic<std::int64_t> stalled_until_{0};
};

}  // namespace shared
}  // namespace limitree

#endif  // LIMITREE_STORE_SHARED_SHARED_HOME_HPP
