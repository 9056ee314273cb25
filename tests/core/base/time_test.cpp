#include "base/time.hpp"

#include <gtest/gtest.h>

namespace limitree {
namespace {

constexpr Instant at(std::int64_t ns) { return Instant(Duration(ns)); }

TEST(SaturatingAdd, AddsWhereThereIsRoom) {
  EXPECT_EQ(saturating_add(at(5), Duration(7)), at(12));
  EXPECT_EQ(saturating_add(at(5), Duration(-7)), at(-2));
}

TEST(SaturatingAdd, StopsAtTheEndsOfTime) {
  EXPECT_EQ(saturating_add(Instant::max(), Duration(1)), Instant::max());
  EXPECT_EQ(saturating_add(Instant::min(), Duration(-1)), Instant::min());
}

TEST(SaturatingSub, SubtractsWhereThereIsRoom) {
  EXPECT_EQ(saturating_sub(at(5), at(7)), Duration(-2));
}

TEST(SaturatingSub, StopsAtTheEndsOfTime) {
  EXPECT_EQ(saturating_sub(Instant::max(), Instant::min()), Duration::max());
  EXPECT_EQ(saturating_sub(Instant::min(), Instant::max()), Duration::min());
}

}  // namespace
}  // namespace limitree
