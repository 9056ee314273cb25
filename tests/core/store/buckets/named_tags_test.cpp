#include "store/buckets/named_tags.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "store/buckets/bucket.hpp"
#include "store/buckets/cell.hpp"

namespace limitree::named_tags_test {
namespace {

// Pairs of tags that differ in their lowest bits only.
std::vector<std::uint64_t> tags_of(std::size_t count) {
  std::vector<std::uint64_t> tags;
  for (std::uint64_t n = 0; n < count; ++n) {
    tags.push_back(((n / 2 + 1) << 12) + n % 2 * 8);
  }
  return tags;
}

TEST(NamedTags, AreFoundAmongFewAndMany) {
  for (const std::size_t count : {1u, 2u, 16u, 17u, 18u, 999u}) {
    const std::vector<std::uint64_t> all = tags_of(count);
    for (std::uint64_t tag : all) {
      Cell cell{};
      cell.tag = tag;
      EXPECT_TRUE(is_named(cell, all)) << count;
      cell.tag = tag + 4;
      EXPECT_FALSE(is_named(cell, all)) << count;
      // It has other bits there.
      const Bucket bucket{tag + 4, Instant()};
      EXPECT_TRUE(is_named(bucket, all)) << count;
    }
    for (const std::uint64_t other : {std::uint64_t{1}, ~std::uint64_t{0}}) {
      EXPECT_FALSE(is_named(Bucket{other, Instant()}, all)) << count;
    }
  }
}

}  // namespace
}  // namespace limitree::named_tags_test
