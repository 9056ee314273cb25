// Units that a request holds until its cost is known: who holds how many, and
// until when.

#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

#include "base/time.hpp"

namespace limitree {

// The most holds of one bucket, and the longest time of a hold.
inline constexpr std::uint32_t kMaxHolds = 10'000;
inline constexpr Duration kMaxHold = std::chrono::hours(24);

// 128 random bits that a reservation has in each of its buckets.
struct HoldId {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend auto operator<=>(const HoldId&, const HoldId&) = default;
};

// What one reservation holds in one bucket.
struct Hold {
  HoldId id;
  Instant end;
  std::int64_t units = 0;  // 0: nothing any more
};

// The order in which holds end.
inline bool ends_before(const Hold& a, const Hold& b) {
  return a.end != b.end ? a.end < b.end : a.id < b.id;
}

// What a plan reserves, settles or extends.
struct Reservation {
  HoldId id;
  Duration hold{};  // from now; 0: that of each limit
};

// The cost of a level that is settled as it was held.
inline constexpr std::int64_t kAsHeld = -1;

}  // namespace limitree
