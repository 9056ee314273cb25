#include "store/redis/facts/traffic.hpp"

#include <algorithm>
#include <bit>

namespace limitree::redis {

void Traffic::count_round_trip(Duration time) {
  constexpr std::int64_t kFirstBucketNs = 16'000;
  const std::int64_t ns = std::max<std::int64_t>(time.count(), 0);
  const auto bucket = static_cast<std::size_t>(
      std::bit_width(static_cast<std::uint64_t>(ns / kFirstBucketNs)));
  round_trips[std::min(bucket, kBuckets - 1)].fetch_add(
      1, std::memory_order_relaxed);
  round_trip_ns.fetch_add(ns, std::memory_order_relaxed);
}

}  // namespace limitree::redis
