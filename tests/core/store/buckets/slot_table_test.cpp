#include "store/buckets/slot_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <unordered_map>
#include <vector>

#include "store/memory/private_memory.hpp"

namespace limitree {
namespace {

constexpr Instant at(std::int64_t ns) { return Instant(Duration(ns)); }

// Tags whose low bits are free, all at memory in the first line.
constexpr std::uint64_t tag_of(std::uint64_t n) { return n << 12; }

Limit limit_of(Duration emission_interval, std::int64_t capacity) {
  Limit limit;
  limit.rate = {emission_interval, capacity};
  return limit;
}

// A bucket of a limit that all have in common.
Bucket made(std::uint64_t tag, std::int64_t tat) {
  return Bucket::made(tag, limit_of(Duration(10), 20), at(tat));
}

TEST(BucketTable, TakesNoMemoryBeforeTheFirstBucket) {
  BucketTable table(1'000'000);
  EXPECT_EQ(table.bytes(), 0);
  EXPECT_EQ(table.live(at(0)), 0);
  EXPECT_EQ(table.find(tag_of(1)), nullptr);
}

// Compared with a map, over random inserts, updates and passing time.
TEST(BucketTable, AgreesWithAMap) {
  BucketTable table(100'000);
  std::unordered_map<std::uint64_t, Instant> map;
  std::mt19937_64 random(1);
  std::int64_t now = 0;
  for (int i = 0; i < 200'000; ++i) {
    now += static_cast<std::int64_t>(random() % 3);
    const std::uint64_t tag = (random() % 20'000 + 1) * 0x9e3779b97f4a7000;
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
      table.insert(Bucket::made(tag, limit_of(Duration(10), 20), tat), at(now),
                   {});
    }
    map[tag] = tat;
  }
  EXPECT_EQ(table.evictions(), 0);
}

TEST(BucketTable, EvictsTheLeastDebtWhenFull) {
  BucketTable table(1);  // four slots
  for (std::uint64_t tag = 1; tag <= 4; ++tag) {
    table.insert(made(tag_of(tag), 10 * static_cast<std::int64_t>(tag)), at(0),
                 {});
  }
  table.insert(made(tag_of(5), 1), at(0), {});
  EXPECT_EQ(table.evictions(), 1);
  EXPECT_EQ(table.find(tag_of(1)), nullptr);
  for (std::uint64_t tag = 2; tag <= 5; ++tag) {
    EXPECT_NE(table.find(tag_of(tag)), nullptr) << tag;
  }
}

// Seconds owed do not count: a caller that has used all five of a minute is not
// evicted for one that has used one of three of a day.
TEST(BucketTable, EvictsTheSmallestShareWhateverTheLimits) {
  using std::chrono::hours;
  using std::chrono::minutes;
  using std::chrono::seconds;
  const auto insert = [](BucketTable* table, std::uint64_t n,
                         const Limit& limit, Duration debt) {
    table->insert(Bucket::made(tag_of(n), limit, Instant(debt)), at(0), {});
  };
  const Limit minute = limit_of(seconds(12), 5);
  const Limit day = limit_of(hours(8), 3);
  const Limit thousand = limit_of(Duration(1000), 1000);
  BucketTable table(1);  // four slots
  insert(&table, 1, minute, minutes(1));
  insert(&table, 2, day, hours(8));
  insert(&table, 3, thousand, Duration(1'000'000));
  insert(&table, 4, day, hours(24));
  insert(&table, 5, minute, seconds(36));
  EXPECT_EQ(table.find(tag_of(2)), nullptr);
  insert(&table, 6, thousand, Duration(900'000));
  EXPECT_EQ(table.find(tag_of(5)), nullptr);
  EXPECT_EQ(table.evictions(), 2);
  EXPECT_EQ(table.forgotten_limited(), 0);
  for (const std::uint64_t n : std::array<std::uint64_t, 4>{1, 3, 4, 6}) {
    EXPECT_NE(table.find(tag_of(n)), nullptr) << n;
  }
  // All of these are at their limits.
  insert(&table, 7, minute, minutes(1));
  EXPECT_EQ(table.find(tag_of(6)), nullptr);
  EXPECT_EQ(table.forgotten_limited(), 0);
  insert(&table, 8, minute, minutes(1));
  EXPECT_EQ(table.evictions(), 4);
  EXPECT_EQ(table.forgotten_limited(), 1);
}

// Fills the window of line 8, which ends at the last line, with 32 buckets.
// Bucket n of them owes more than the one before if `ascending`, else less.
// Then sweeps the table, which cannot grow.  The window of line 15 continues at
// line 0, so the sweep meets its buckets first, and moves four of them to line
// 15: the last four of the 32 find no place.  Returns which of the 32 are left.
std::vector<bool> left_after_a_sweep(bool ascending) {
  BucketTable table(16);
  const auto home = [](std::uint64_t line, std::uint64_t n) {
    return (line << 60) + tag_of(n);  // sixteenths of all tags
  };
  const Limit limit = limit_of(Duration(1000), 1000);
  const auto insert = [&](std::uint64_t tag, std::int64_t tat, Instant now) {
    table.insert(Bucket::made(tag, limit, at(tat)), now, {});
  };
  for (std::uint64_t n = 0; n < 32; ++n) {
    const auto step = static_cast<std::int64_t>(ascending ? 31 - n : n);
    insert(home(8, n), 900'000 - 20'000 * step, at(0));
  }
  // Lines 0 to 3, because 15 is full; one of them is over soon.
  for (std::uint64_t n = 0; n < 16; ++n) {
    insert(home(15, n), n == 15 ? 1 : 990'000, at(0));
  }
  EXPECT_EQ(table.live(at(0)), 48);
  EXPECT_EQ(table.evictions(), 0);
  insert(home(5, 0), 500'000, at(2));  // the forty-ninth of 64 slots
  EXPECT_EQ(table.evictions(), 4);
  EXPECT_EQ(table.live(at(2)), 44);
  for (std::uint64_t n = 0; n < 15; ++n) {
    EXPECT_NE(table.find(home(15, n)), nullptr) << n;
  }
  std::vector<bool> left;
  for (std::uint64_t n = 0; n < 32; ++n) {
    left.push_back(table.find(home(8, n)) != nullptr);
  }
  return left;
}

TEST(BucketTable, KeepsTheLargerShareWhenASweepFindsNoPlace) {
  std::vector<bool> expected(32, true);
  std::fill_n(expected.rbegin(), 4, false);
  EXPECT_EQ(left_after_a_sweep(false), expected);
}

TEST(BucketTable, ReplacesTheSmallerShareWhenASweepFindsNoPlace) {
  std::vector<bool> expected(32, true);
  std::fill_n(expected.begin(), 4, false);
  EXPECT_EQ(left_after_a_sweep(true), expected);
}

TEST(BucketTable, EvictsNoneThatIsToBeKept) {
  BucketTable table(1);
  for (std::uint64_t tag = 1; tag <= 4; ++tag) {
    table.insert(made(tag_of(tag), 10 * static_cast<std::int64_t>(tag)), at(0),
                 {});
  }
  const std::uint64_t first[] = {tag_of(1)};
  table.insert(made(tag_of(5), 50), at(0), first);
  EXPECT_NE(table.find(tag_of(1)), nullptr);
  EXPECT_EQ(table.find(tag_of(2)), nullptr);

  const std::uint64_t present[] = {tag_of(1), tag_of(3), tag_of(4), tag_of(5)};
  table.insert(made(tag_of(6), 60), at(0), present);
  EXPECT_EQ(table.find(tag_of(6)), nullptr);
  EXPECT_EQ(table.evictions(), 2);
}

// A bucket that counts how often it is compared with a tag.
struct Compared : Bucket {
  static inline int times = 0;
  bool is_of(std::uint64_t other) const {
    ++times;
    return Bucket::is_of(other);
  }
};

// A request may have thousands of buckets, and each may evict one.
TEST(BucketTable, ComparesFewOfManyThatAreToBeKept) {
  std::vector<std::uint64_t> keep;
  for (std::uint64_t n = 1; n <= 4096; ++n) keep.push_back(tag_of(n));
  std::vector<Compared> slots(32);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::uint64_t n = i + 1 < slots.size() ? 4096 - 7 * i : 4097;
    slots[i] = {made(tag_of(n), 10)};
  }
  const SlotLines<Compared> lines{slots.data(), 8};
  EXPECT_EQ(lines.find_victim(tag_of(1), at(0), keep), &slots.back());
  EXPECT_LE(Compared::times, 64);
}

TEST(BucketTable, ReusesAnExpiredSlotInPlace) {
  BucketTable table(1);
  for (std::uint64_t tag = 1; tag <= 4; ++tag) {
    table.insert(made(tag_of(tag), 10 * static_cast<std::int64_t>(tag)), at(0),
                 {});
  }
  table.insert(made(tag_of(5), 100), at(20), {});
  EXPECT_EQ(table.evictions(), 0);
  EXPECT_EQ(table.find(tag_of(1)), nullptr);
  EXPECT_EQ(table.live(at(20)), 3);
}

TEST(BucketTable, GrowsAndForgetsNothing) {
  BucketTable table(1 << 20);
  std::mt19937_64 random(2);
  std::vector<std::uint64_t> tags;
  for (int i = 0; i < 8000; ++i) tags.push_back(random());
  for (const std::uint64_t tag : tags) table.insert(made(tag, 9), at(0), {});
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
      table.insert(made(random(), round + 1), at(round), {});
    }
  }
  EXPECT_LE(table.bytes(), 8192);
}

}  // namespace
}  // namespace limitree
