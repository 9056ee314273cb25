#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "store/memory/private_lines.hpp"

namespace limitree {
namespace {

TEST(Pages, AreZeroAndWritable) {
  Pages pages = map_pages(10'000);
  auto* const bytes = static_cast<unsigned char*>(pages.get());
  ASSERT_NE(bytes, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes) % 4096, 0u);
  EXPECT_TRUE(std::all_of(bytes, bytes + 10'000, [](int b) { return b == 0; }));
  bytes[9'999] = 1;

  Pages moved(std::move(pages));
  EXPECT_EQ(static_cast<unsigned char*>(moved.get())[9'999], 1);
}

TEST(Pages, AreNullWhenThereAreNone) {
  EXPECT_EQ(map_pages(std::size_t{1} << 62), nullptr);
  EXPECT_EQ(Pages(), nullptr);
}

}  // namespace
}  // namespace limitree
