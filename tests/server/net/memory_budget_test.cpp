#include "net/memory_budget.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace limitree::server {
namespace {

TEST(MemoryBudget, IsGivenBack) {
  MemoryBudget budget(100);
  {
    MemoryShare one(&budget);
    MemoryShare other(&budget);
    one.take(30);
    other.take(20);
    one.change(10, 5);
    EXPECT_EQ(budget.used(), 45u);
    other.give(20);
    EXPECT_EQ(budget.used(), 25u);
  }
  EXPECT_EQ(budget.used(), 0u);
  EXPECT_EQ(budget.take_peak(), 50u);
  EXPECT_EQ(budget.take_peak(), 0u);
}

TEST(MemoryBudget, StopsThoseThatHoldMost) {
  MemoryBudget budget(1'000'000);
  MemoryShare large(&budget);
  MemoryShare small(&budget);
  small.take(10);
  large.take(999'990);
  EXPECT_FALSE(large.is_used_up());
  large.take(1);
  EXPECT_TRUE(large.is_used_up());
  EXPECT_FALSE(small.is_used_up());
  // A third of the second million: half of what it leaves.
  small.take(333'320);
  EXPECT_FALSE(small.is_used_up());
  small.take(10);
  EXPECT_TRUE(small.is_used_up());
  large.give(999'991);
  EXPECT_FALSE(small.is_used_up());
}

TEST(MemoryBudget, ConnectionsThatHoldNothingTakeNoPart) {
  MemoryBudget budget(1'000'000);
  std::vector<std::unique_ptr<MemoryShare>> idle;
  for (int i = 0; i < 1000; ++i) {
    idle.push_back(std::make_unique<MemoryShare>(&budget));
  }
  MemoryShare large(&budget);
  MemoryShare small(&budget);
  large.take(1'100'000);
  small.take(100'000);
  EXPECT_TRUE(large.is_used_up());
  EXPECT_FALSE(small.is_used_up());
}

TEST(MemoryBudget, HasAFewBytesForEach) {
  MemoryBudget budget(1000);
  MemoryShare large(&budget);
  MemoryShare small(&budget);
  large.take(1'000'000);
  small.take(MemoryShare::kOwn);
  EXPECT_FALSE(small.is_used_up());
  small.take(1);
  EXPECT_TRUE(small.is_used_up());
}

TEST(MemoryBudget, IsNeverUsedTwice) {
  MemoryBudget budget(1'000'000'000);
  std::vector<std::unique_ptr<MemoryShare>> shares;
  // Each comes when the earlier ones may have no more.
  for (int i = 0; i < 1000; ++i) {
    shares.push_back(std::make_unique<MemoryShare>(&budget));
    while (!shares.back()->is_used_up()) shares.back()->take(1000);
  }
  EXPECT_GT(budget.used(), 1'000'000'000u);
  EXPECT_LT(budget.used(), 2'000'000'000u + 1000 * (MemoryShare::kOwn + 1000));
}

}  // namespace
}  // namespace limitree::server
