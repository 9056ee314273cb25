#include "store/buckets/measure.hpp"

#include <gtest/gtest.h>

namespace limitree::measure_test {
namespace {

Limit limit_of(Duration emission_interval, std::int64_t capacity) {
  Limit limit;
  limit.rate = {emission_interval, capacity};
  return limit;
}

TEST(Measure, FitsItsBitsAndComesBack) {
  for (const Limit& limit :
       {limit_of(Duration(1), 1), limit_of(kMaxBurstOffset, 1),
        limit_of(Duration(1), kMaxBurstOffset.count()),
        limit_of(std::chrono::seconds(12), 5)}) {
    const Measure measure(limit);
    EXPECT_LE(measure.bits(), Measure::kMask);
    const Duration all = limit.rate.burst_offset();
    for (const std::uint64_t noise : {std::uint64_t{0}, ~Measure::kMask}) {
      const Measure read(measure.bits() | noise);
      EXPECT_EQ(read.share(Duration::zero()), 0);
      EXPECT_NEAR(read.share(all), 1, 1.0 / 16);
      EXPECT_TRUE(read.denies(all));
    }
  }
}

// For debts of any length: within a sixteenth, and in order.
TEST(Measure, SharesAreComparable) {
  for (std::int64_t length = 16; length < kMaxBurstOffset.count() / 2;
       length += length / 16) {
    const Measure measure(limit_of(Duration(length), 1));
    float last = 0;
    for (std::int64_t eighths = 1; eighths <= 8; ++eighths) {
      const float share = measure.share(Duration(length / 8 * eighths));
      EXPECT_NEAR(
          share,
          static_cast<float>(length / 8 * eighths) / static_cast<float>(length),
          1.0 / 16);
      EXPECT_GE(share, last);
      last = share;
    }
    EXPECT_LE(measure.share(Duration::max()), 1);
  }
}

// A bucket with tokens left does not deny; one without does.
TEST(Measure, TellsWhoDenies) {
  for (std::int64_t capacity = 1; capacity <= 7; ++capacity) {
    for (const std::int64_t ms : {1, 7, 100, 1500, 12'000, 28'800'000}) {
      const Duration interval = std::chrono::milliseconds(ms);
      const Measure measure(limit_of(interval, capacity));
      EXPECT_TRUE(measure.denies(interval * capacity)) << capacity << " " << ms;
      if (capacity == 1) {
        EXPECT_TRUE(measure.denies(interval / 100));
      } else {
        EXPECT_FALSE(measure.denies(interval * (capacity - 1)))
            << capacity << " " << ms;
      }
    }
  }
  const Measure many(limit_of(std::chrono::seconds(1), 1'000'000));
  EXPECT_TRUE(many.denies(std::chrono::seconds(1'000'000)));
  EXPECT_FALSE(many.denies(std::chrono::seconds(850'000)));
}

// Two units for each request: two requests for five tokens.
TEST(Measure, CountsRequestsByTheirCost) {
  Limit limit = limit_of(std::chrono::seconds(1), 4);
  limit.cost = 4;
  EXPECT_TRUE(Measure(limit).denies(std::chrono::seconds(1)));
  limit.cost = 0;
  EXPECT_FALSE(Measure(limit).denies(std::chrono::seconds(1)));
}

}  // namespace
}  // namespace limitree::measure_test
