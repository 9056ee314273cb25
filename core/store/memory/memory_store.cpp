#include "store/memory/memory_store.hpp"

#include "store/buckets/decide.hpp"

namespace limitree {

template class BucketShards<PrivateMemory>;

MemoryStore::MemoryStore(std::int64_t max_buckets, Clock clock,
                         std::int64_t max_bytes)
    : max_buckets_(max_buckets),
      shards_(clock, SipKey::of_process(), shard_count_for(max_buckets),
              max_buckets, log_bytes_of(max_buckets, max_bytes)) {
  watch_forks();
}

MemoryStore::~MemoryStore() { unwatch_forks(); }

Status MemoryStore::decide(Plan* plan) { return shards_.decide(plan); }

void MemoryStore::peek(Plan* plan, Instant now) { shards_.peek(plan, now); }

void MemoryStore::learn(const Plan& plan, Instant now, std::uint64_t forgets) {
  shards_.learn(plan, now, [&] { return forgets_.load() == forgets; });
}

void MemoryStore::clear() {
  ++forgets_;
  shards_.memory().clear();
}

Status MemoryStore::reset(const Plan& plan) {
  forget(plan);
  return {};
}

void MemoryStore::forget(const Plan& plan) {
  ++forgets_;
  // A lock of this process has no deadline, so this does not fail.
  const Status status = shards_.forget(plan);
  static_cast<void>(status);
}

StoreStats MemoryStore::stats() {
  StoreStats stats;
  stats.max_buckets = max_buckets_;
  stats.bytes = shards_.memory().log_bytes();
  shards_.add_stats(&stats);
  return stats;
}

}  // namespace limitree
