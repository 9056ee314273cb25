#include "grpc/gzip.hpp"

#include <gtest/gtest.h>

#include <ctime>
#include <random>

namespace limitree::server {
namespace {

constexpr std::size_t kMost = 4 * 1024 * 1024;

std::string noise(std::size_t size) {
  std::minstd_rand random(1);
  std::string text;
  while (text.size() < size) text += static_cast<char>(random() >> 8);
  return text;
}

TEST(Gzip, UnpacksWhatItHasPacked) {
  for (const std::string& message :
       {std::string(), std::string("a"), std::string(100'000, 'a'), noise(4095),
        noise(4096), noise(8192), noise(300'000)}) {
    std::string found = "before";
    ASSERT_EQ(unpack_gzip(pack_gzip(message), kMost, &found), Unpacked::kDone);
    EXPECT_EQ(found, message);
  }
  EXPECT_LT(pack_gzip(std::string(100'000, 'a')).size(), 1000u);
}

TEST(Gzip, KnowsTheFormatOfOthers) {
  // gzip -n of "hello\n".
  const std::string packed(
      "\x1f\x8b\x08\0\0\0\0\0\0\x03\xcb\x48\xcd\xc9\xc9\xe7\x02\0\x20\x30"
      "\x3a\x36\x06\0\0\0",
      26);
  std::string found;
  EXPECT_EQ(unpack_gzip(packed, kMost, &found), Unpacked::kDone);
  EXPECT_EQ(found, "hello\n");
}

TEST(Gzip, UnpacksAtMostAsMuchAsAllowed) {
  const std::string packed = pack_gzip(std::string(10'000, 'a'));
  std::string found;
  EXPECT_EQ(unpack_gzip(packed, 10'000, &found), Unpacked::kDone);
  EXPECT_EQ(unpack_gzip(packed, 9'999, &found), Unpacked::kTooLarge);
  EXPECT_EQ(unpack_gzip(packed, 0, &found), Unpacked::kTooLarge);
}

// 64 megabytes in 64 kilobytes cost as much as the largest message.
TEST(Gzip, ABombNeedsLittleTimeAndMemory) {
  const std::string bomb = pack_gzip(std::string(std::size_t{1} << 26, '\0'));
  std::string found;
  const std::clock_t begun = std::clock();
  EXPECT_EQ(unpack_gzip(bomb, kMost, &found), Unpacked::kTooLarge);
  EXPECT_LT(static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC, 0.5);
  EXPECT_LE(found.capacity(), 2 * kMost);
}

TEST(Gzip, RefusesWhatIsMalformed) {
  const std::string packed = pack_gzip("hello");
  std::string found;
  for (std::size_t size = 0; size < packed.size(); ++size) {
    EXPECT_EQ(unpack_gzip(packed.substr(0, size), kMost, &found),
              Unpacked::kMalformed)
        << size;
  }
  EXPECT_EQ(unpack_gzip(packed + "x", kMost, &found), Unpacked::kMalformed);
  EXPECT_EQ(unpack_gzip("hello", kMost, &found), Unpacked::kMalformed);
  std::string wrong_sum = packed;
  wrong_sum[packed.size() - 8] ^= 1;
  EXPECT_EQ(unpack_gzip(wrong_sum, kMost, &found), Unpacked::kMalformed);
  // And the next one is not disturbed.
  EXPECT_EQ(unpack_gzip(packed, kMost, &found), Unpacked::kDone);
  EXPECT_EQ(found, "hello");
}

}  // namespace
}  // namespace limitree::server
