// The vectors of FIPS 180-4, and sizes around the padding, whose digests are
// those of the sha1sum command.

#include <gtest/gtest.h>

#include "base/sha.hpp"

namespace limitree {
namespace {

TEST(Sha1, Vectors) {
  EXPECT_EQ(sha1_hex(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(sha1_hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(
      sha1_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
      "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  EXPECT_EQ(sha1_hex(std::string(1'000'000, 'a')),
            "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

TEST(Sha1, PaddingAroundOneBlock) {
  EXPECT_EQ(sha1_hex(std::string(55, 'a')),
            "c1c8bbdc22796e28c0e15163d20899b65621d65a");
  EXPECT_EQ(sha1_hex(std::string(56, 'a')),
            "c2db330f6083854c99d4b5bfb6e8f29f201be699");
  EXPECT_EQ(sha1_hex(std::string(63, 'a')),
            "03f09f5b158a7a8cdad920bddc29b81c18a551f5");
  EXPECT_EQ(sha1_hex(std::string(64, 'a')),
            "0098ba824b5c16427bd7a1122a5a442a25ec644d");
  EXPECT_EQ(sha1_hex(std::string(65, 'a')),
            "11655326c708d70319be2610e8a57d9a5b959d3b");
}

}  // namespace
}  // namespace limitree
