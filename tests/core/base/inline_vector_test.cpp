#include "base/inline_vector.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace limitree {
namespace {

TEST(InlineVector, KeepsElementsAcrossEveryGrowth) {
  InlineVector<int, 2> vector;
  for (int i = 0; i < 100; ++i) vector.push_back(i);
  ASSERT_EQ(vector.size(), 100u);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(vector[static_cast<std::size_t>(i)], i);
  }
  EXPECT_EQ(std::accumulate(vector.begin(), vector.end(), 0), 4950);
}

TEST(InlineVector, NeedsNoHeapForTheFirstOnes) {
  InlineVector<int, 4> vector;
  const auto* const inside = reinterpret_cast<const std::byte*>(&vector);
  for (int i = 0; i < 4; ++i) vector.push_back(i);
  const auto* const data = reinterpret_cast<const std::byte*>(vector.data());
  EXPECT_GE(data, inside);
  EXPECT_LT(data, inside + sizeof vector);
}

TEST(InlineVector, ResizesAndPops) {
  InlineVector<int, 2> vector;
  vector.emplace_back(7);
  vector.resize(9);
  EXPECT_EQ(vector.size(), 9u);
  EXPECT_EQ(vector[0], 7);
  vector.pop_back();
  EXPECT_EQ(vector.size(), 8u);
  vector.clear();
  EXPECT_TRUE(vector.empty());
}

// Filling from itself while it grows would read freed memory.
TEST(InlineVector, PushesACopyOfItsOwnElement) {
  InlineVector<int, 1> vector;
  vector.push_back(42);
  vector.push_back(int{vector[0]});
  EXPECT_EQ(vector.back(), 42);
}

}  // namespace
}  // namespace limitree
