// What has passed between a store and its servers, counted.

#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "base/time.hpp"
#include "store/remote/common/failure.hpp"
#include "store/store.hpp"

namespace limitree::remote {

struct Traffic {
  // Round trips by time taken: bucket i holds those of less than
  // 2^i x 16 microseconds, the last one all others.
  static constexpr std::size_t kBuckets = StoreStats::kRoundTripBuckets;

  std::array<std::atomic<std::int64_t>, kBuckets> round_trips{};
  std::atomic<std::int64_t> round_trip_ns{0};  // their sum
  std::atomic<std::int64_t> connects{0};       // connections that got ready
  std::array<std::atomic<std::int64_t>, kFailureCount> failures{};

  void count_round_trip(Duration time) {
    constexpr std::int64_t kFirstBucketNs = 16'000;
    const std::int64_t ns = std::max<std::int64_t>(time.count(), 0);
    const auto bucket = static_cast<std::size_t>(
        std::bit_width(static_cast<std::uint64_t>(ns / kFirstBucketNs)));
    round_trips[std::min(bucket, kBuckets - 1)].fetch_add(
        1, std::memory_order_relaxed);
    round_trip_ns.fetch_add(ns, std::memory_order_relaxed);
  }

  StoreStats stats() const {
    constexpr auto kRelaxed = std::memory_order_relaxed;
    StoreStats stats;
    for (std::size_t i = 0; i < kBuckets; ++i) {
      stats.round_trips[i] = round_trips[i].load(kRelaxed);
    }
    stats.round_trip_ns = round_trip_ns.load(kRelaxed);
    stats.connects = connects.load(kRelaxed);
    for (std::size_t i = 1; i < kFailureCount; ++i) {  // 0 is kNone
      const std::int64_t found = failures[i].load(kRelaxed);
      if (found == 0) continue;
      stats.troubles.push_back({failure_name(static_cast<Failure>(i)), found});
    }
    return stats;
  }

  void count(Failure failure) {
    failures[static_cast<std::size_t>(failure)].fetch_add(
        1, std::memory_order_relaxed);
  }
};

}  // namespace limitree::remote
