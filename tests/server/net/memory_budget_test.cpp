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
  MemoryBudget budget(1000);
  MemoryShare large(&budget);
  MemoryShare small(&budget);
  small.take(10);
  large.take(990);
  EXPECT_FALSE(large.is_used_up());
  large.take(1);
  EXPECT_TRUE(large.is_used_up());
  EXPECT_FALSE(small.is_used_up());
  small.take(490);
  EXPECT_FALSE(small.is_used_up());
  small.take(1);
  EXPECT_TRUE(small.is_used_up());
  large.give(991);
  EXPECT_FALSE(small.is_used_up());
}

TEST(MemoryBudget, IsNeverUsedTwice) {
  MemoryBudget budget(1'000'000);
  std::vector<std::unique_ptr<MemoryShare>> shares;
  for (int i = 0; i < 1000; ++i) {
    shares.push_back(std::make_unique<MemoryShare>(&budget));
  }
  for (const auto& share : shares) {
    while (!share->is_used_up()) share->take(100);
  }
  EXPECT_GT(budget.used(), 1'000'000u);
  EXPECT_LT(budget.used(), 2'200'000u);
}

}  // namespace
}  // namespace limitree::server
