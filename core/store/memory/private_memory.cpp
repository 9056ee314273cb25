#include "store/memory/private_memory.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <new>

#include "store/buckets/held_level.hpp"
#include "store/buckets/log_collection.hpp"

namespace limitree {

template class SlotTable<Bucket, PrivateLines<Bucket>>;
template class SlotTable<Cell, PrivateCells>;
template class MixedLevel<PrivatePlace>;

std::uint64_t PrivateCells::make_log(std::uint32_t room) {
  const std::int64_t bytes = LogBlock::bytes_for(room);
  void* const place =
      ::operator new(static_cast<std::size_t>(bytes), std::nothrow);
  if (place == nullptr) return 0;
  *total_ += bytes;
  return reinterpret_cast<std::uint64_t>(new (place) LogBlock(room));
}

void PrivateCells::free_log(std::uint64_t link) {
  *total_ -= block(link)->bytes();
  ::operator delete(block(link));
}

PrivateMemory::PrivateMemory(std::uint32_t shard_count,
                             std::int64_t max_buckets,
                             std::int64_t max_log_bytes)
    : max_log_bytes_(max_log_bytes),
      shard_count_(shard_count),
      shards_(new Shard[shard_count]),
      cells_(new CellShard[shard_count]) {
  const std::uint32_t lines =
      BucketTable::Lines::lines_for(max_buckets, shard_count);
  const std::uint32_t cells =
      CellTable::Lines::lines_for(max_buckets, shard_count);
  for (std::uint32_t i = 0; i < shard_count; ++i) {
    shards_[i].table = BucketTable(lines);
    cells_[i].table = CellTable(cells);
    cells_[i].table.memory().count_logs_in(&log_bytes_);
  }
}

Instant PrivateMemory::time_after(Instant latest, Instant read,
                                  const Clock& clock) {
  // Two threads that read the clock at the same time may differ by less than
  // this.
  constexpr Duration kNoise = std::chrono::seconds(1);
  if (clock.is_callers()) return clock.now();
  if (saturating_sub(latest, read) < kNoise) return latest;
  const Instant now = clock.now();  // it may have waited for long
  return saturating_sub(latest, now) < kNoise ? std::max(latest, now) : now;
}

void PrivateMemory::decided_logs(const MixedRequest& ask) {
  if (log_bytes_.load(std::memory_order_relaxed) > max_log_bytes_) {
    ask.plan->forgot |= collect_logs(ask.now, ask.keep);
  }
}

bool PrivateMemory::collect_logs(Instant now,
                                 std::span<const std::uint64_t> keep) {
  const std::unique_lock alone(collecting_, std::try_to_lock);
  if (!alone.owns_lock()) return false;  // another thread does it
  LogCollection collection(now, keep);
  for (std::uint32_t i = 0; i < shard_count_; ++i) {
    const std::lock_guard lock(shards_[i].lock);
    collection.look(&cells_[i].table);
  }
  const std::int64_t excess = log_bytes_.load() - max_log_bytes_;
  if (excess <= 0) return false;
  collection.aim(excess + max_log_bytes_ / 32);
  bool forgot = false;
  for (std::uint32_t i = 0; i < shard_count_; ++i) {
    const std::lock_guard lock(shards_[i].lock);
    forgot |= collection.take(&cells_[i].table);
  }
  return forgot;
}

void PrivateMemory::clear() {
  for (std::uint32_t i = 0; i < shard_count_; ++i) {
    const std::lock_guard lock(shards_[i].lock);
    shards_[i].table.clear();
    cells_[i].table.clear();
  }
}

void PrivateMemory::lock_all() {
  collecting_.lock();
  for (std::uint32_t i = 0; i < shard_count_; ++i) shards_[i].lock.lock();
}

void PrivateMemory::unlock_all() {
  for (std::uint32_t i = 0; i < shard_count_; ++i) shards_[i].lock.unlock();
  collecting_.unlock();
}

}  // namespace limitree
