#include "store/bucket_table.hpp"

#include <gtest/gtest.h>

#include <random>
#include <unordered_map>

namespace limitree {
namespace {

constexpr Instant at(std::int64_t ns) { return Instant(Duration(ns)); }

TEST(BucketTable, TakesNoMemoryBeforeTheFirstBucket) {
  BucketTable table(1'000'000);
  EXPECT_EQ(table.bytes(), 0);
  EXPECT_EQ(table.live(at(0)), 0);
  EXPECT_EQ(table.find(1), nullptr);
}

// Beside a map, over random inserts, updates and passing time.
TEST(BucketTable, AgreesWithAMap) {
  BucketTable table(100'000);
  std::unordered_map<std::uint64_t, Instant> map;
  std::mt19937_64 random(1);
  std::int64_t now = 0;
  for (int i = 0; i < 200'000; ++i) {
    now += static_cast<std::int64_t>(random() % 3);
    const std::uint64_t tag = (random() % 20'000 + 1) * 0x9e3779b97f4a7c15;
    const Instant tat =
        at(now + 1 + static_cast<std::int64_t>(random() % 9999));
    Bucket* const bucket = table.find(tag);
    const auto known = map.find(tag);
    const bool alive = known != map.end() && known->second > at(now);
    if (bucket != nullptr && bucket->tat > at(now)) {
      ASSERT_TRUE(alive);
      ASSERT_EQ(bucket->tat, known->second);
    } else {
      ASSERT_FALSE(alive);
    }
    if (bucket != nullptr) {
      bucket->tat = tat;
    } else {
      table.insert({tag, tat}, at(now), {});
    }
    map[tag] = tat;
  }
  EXPECT_EQ(table.evictions(), 0);
}

TEST(BucketTable, EvictsTheLeastDebtWhenFull) {
  BucketTable table(1);  // four slots
  for (std::uint64_t tag = 1; tag <= 4; ++tag) {
    table.insert({tag, at(static_cast<std::int64_t>(10 * tag))}, at(0), {});
  }
  table.insert({5, at(1)}, at(0), {});
  EXPECT_EQ(table.evictions(), 1);
  EXPECT_EQ(table.find(1), nullptr);
  for (std::uint64_t tag = 2; tag <= 5; ++tag) {
    EXPECT_NE(table.find(tag), nullptr) << tag;
  }
}

TEST(BucketTable, EvictsNoneThatIsToBeKept) {
  BucketTable table(1);
  const std::uint64_t all[] = {1, 2, 3, 4};
  for (const std::uint64_t tag : all) {
    table.insert({tag, at(static_cast<std::int64_t>(10 * tag))}, at(0), {});
  }
  const std::uint64_t first[] = {1};
  table.insert({5, at(50)}, at(0), first);
  EXPECT_NE(table.find(1), nullptr);
  EXPECT_EQ(table.find(2), nullptr);

  const std::uint64_t present[] = {1, 3, 4, 5};
  table.insert({6, at(60)}, at(0), present);
  EXPECT_EQ(table.find(6), nullptr);
  EXPECT_EQ(table.evictions(), 2);
}

TEST(BucketTable, ReusesAnExpiredSlotInPlace) {
  BucketTable table(1);
  for (std::uint64_t tag = 1; tag <= 4; ++tag) {
    table.insert({tag, at(static_cast<std::int64_t>(10 * tag))}, at(0), {});
  }
  table.insert({5, at(100)}, at(20), {});
  EXPECT_EQ(table.evictions(), 0);
  EXPECT_EQ(table.find(1), nullptr);
  EXPECT_EQ(table.live(at(20)), 3);
}

TEST(BucketTable, GrowsAndForgetsNothing) {
  BucketTable table(1 << 20);
  std::mt19937_64 random(2);
  std::vector<std::uint64_t> tags;
  for (int i = 0; i < 8000; ++i) tags.push_back(random() | 1);
  for (const std::uint64_t tag : tags) table.insert({tag, at(9)}, at(0), {});
  for (const std::uint64_t tag : tags) ASSERT_NE(table.find(tag), nullptr);
  EXPECT_EQ(table.live(at(0)), 8000);
  EXPECT_EQ(table.evictions(), 0);
  EXPECT_LE(table.bytes(), 36 * 8000);
}

// Once most of its buckets are full again, a table does not grow for new ones.
TEST(BucketTable, SweepsBeforeItGrows) {
  BucketTable table(1 << 20);
  std::mt19937_64 random(3);
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 200; ++i) {
      table.insert({random() | 1, at(round + 1)}, at(round), {});
    }
  }
  EXPECT_LE(table.bytes(), 8192);
}

}  // namespace
}  // namespace limitree
