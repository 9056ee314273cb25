#include "store/entropy.hpp"

#include <gtest/gtest.h>
#include <sys/random.h>

#include <cerrno>
#include <cstddef>
#include <set>

namespace {

bool forbidden = false;

}  // namespace

// Replaces the system's call, as in a sandbox that does not know it.
extern "C" int getentropy(void* buffer, std::size_t size) {
  if (!forbidden && getrandom(buffer, size, 0) == static_cast<ssize_t>(size)) {
    return 0;
  }
  errno = ENOSYS;
  return -1;
}

namespace limitree {
namespace {

std::set<std::uint64_t> words(std::size_t count) {
  std::set<std::uint64_t> found;
  for (std::size_t i = 0; i < count; ++i) found.insert(random_word());
  return found;
}

// Two of a thousand words are equal once in 10^13 runs.
TEST(RandomWord, IsAnotherEachTime) {
  EXPECT_EQ(words(1000).size(), 1000u);
  std::uint64_t ones = 0;
  std::uint64_t zeros = 0;
  for (const std::uint64_t word : words(1000)) {
    ones |= word;
    zeros |= ~word;
  }
  EXPECT_EQ(ones, ~std::uint64_t{0});
  EXPECT_EQ(zeros, ~std::uint64_t{0});
}

TEST(RandomWord, ComesFromTheDeviceWhereTheCallIsForbidden) {
  forbidden = true;
  EXPECT_EQ(words(1000).size(), 1000u);
  forbidden = false;
}

}  // namespace
}  // namespace limitree
