#include <gtest/gtest.h>

#include "stats/snapshot.hpp"

namespace limitree::server {
namespace {

TEST(CleanName, KeepsWhatIsFit) {
  const std::string name =
      "web.key_a value.\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80";
  EXPECT_EQ(clean_name(name), name);
}

TEST(CleanName, ReplacesWhatSeparates) {
  EXPECT_EQ(clean_name("a:b|c"), "a_b_c");
  EXPECT_EQ(clean_name("a\nb\tc\x7F"
                       "d"),
            "a_b_c_d");
  EXPECT_EQ(clean_name(std::string("a\0b", 3)), "a_b");
}

TEST(CleanName, ReplacesTheDotsOfAddresses) {
  EXPECT_EQ(clean_name("web.ip_10.0.0.1"), "web.ip_10_0_0_1");
  EXPECT_EQ(clean_name("web.ip_10.0.0.1.path"), "web.ip_10_0_0_1.path");
  EXPECT_EQ(clean_name("v.1.2.3"), "v.1.2.3");
  // As the original does it: three digits of the first number are enough.
  EXPECT_EQ(clean_name("1234.5.6.7"), "1234_5_6_7");
  EXPECT_EQ(clean_name("1.2.3.4.5.6.7.8"), "1_2_3_4.5_6_7_8");
}

TEST(CleanName, ReplacesBytesThatAreNoText) {
  EXPECT_EQ(clean_name("a\xFF"
                       "b"),
            "a_b");
  EXPECT_EQ(clean_name("\xC3"), "_");                 // cut off
  EXPECT_EQ(clean_name("\xC0\x80"), "__");            // too long
  EXPECT_EQ(clean_name("\xE0\x80\x80"), "___");       // too long
  EXPECT_EQ(clean_name("\xED\xA0\x80"), "___");       // half a pair
  EXPECT_EQ(clean_name("\xF4\x90\x80\x80"), "____");  // above the last
  EXPECT_EQ(clean_name("\xF0\x8F\x80\x80"), "____");  // too long
  EXPECT_EQ(clean_name("\xE2\x82"), "__");            // cut off
  EXPECT_EQ(clean_name("\xF0\x9F\x98"), "___");       // cut off
}

}  // namespace
}  // namespace limitree::server
