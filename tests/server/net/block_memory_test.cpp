#include "net/block_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace limitree::server {
namespace {

bool is_all(const void* memory, std::size_t size, unsigned char byte) {
  const auto* const bytes = static_cast<const unsigned char*>(memory);
  return std::all_of(bytes, bytes + size,
                     [byte](unsigned char one) { return one == byte; });
}

// Each of them has its own bytes, of all sizes around those of the kinds.
TEST(BlockMemory, BlocksDoNotOverlap) {
  BlockMemory memory;
  std::vector<void*> blocks;
  for (int round = 0; round < 3; ++round) {
    for (std::size_t size = 0; size < 1200; ++size) {
      blocks.push_back(memory.take(size));
      ASSERT_NE(blocks.back(), nullptr);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back()) %
                    alignof(max_align_t),
                0u);
      std::memset(blocks.back(), static_cast<int>(size % 251), size);
    }
    for (std::size_t size = 0; size < 1200; ++size) {
      EXPECT_TRUE(
          is_all(blocks[size], size, static_cast<unsigned char>(size % 251)));
      memory.give(blocks[size]);
    }
    blocks.clear();
  }
}

TEST(BlockMemory, ZerosAreZerosInABlockThatIsUsedAgain) {
  BlockMemory memory;
  void* const first = memory.take(100);
  std::memset(first, 0xff, 100);
  memory.give(first);
  void* const second = memory.take_zeros(10, 10);
  EXPECT_TRUE(is_all(second, 100, 0));
  memory.give(second);
}

TEST(BlockMemory, AChangeOfSizeKeepsTheContent) {
  BlockMemory memory;
  void* block = memory.change(nullptr, 10);
  std::memset(block, 7, 10);
  for (const std::size_t size : {20u, 48u, 49u, 1000u, 5000u, 3u}) {
    block = memory.change(block, size);
    EXPECT_TRUE(is_all(block, std::min<std::size_t>(size, 10), 7)) << size;
  }
  memory.give(block);
}

TEST(BlockMemory, SizesThatNothingHasAreRefused) {
  BlockMemory memory;
  EXPECT_EQ(memory.take(SIZE_MAX), nullptr);
  EXPECT_EQ(memory.take_zeros(SIZE_MAX / 2, 3), nullptr);
  void* const block = memory.take(8);
  EXPECT_EQ(memory.change(block, SIZE_MAX - 8), nullptr);
  memory.give(block);  // as it was
  memory.give(nullptr);
}

TEST(BlockMemory, ThousandsCanBeGivenBack) {
  BlockMemory memory;
  for (int round = 0; round < 2; ++round) {
    std::vector<void*> blocks(5000);
    for (void*& block : blocks) block = memory.take(40);
    std::sort(blocks.begin(), blocks.end());
    EXPECT_EQ(std::adjacent_find(blocks.begin(), blocks.end()), blocks.end());
    for (void* const block : blocks) memory.give(block);
  }
}

}  // namespace
}  // namespace limitree::server
