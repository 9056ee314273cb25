#include <gtest/gtest.h>

#include "grpc/status.hpp"

namespace limitree::server {
namespace {

TEST(PercentEncode, KeepsPrintableAscii) {
  EXPECT_EQ(percent_encode(""), "");
  EXPECT_EQ(percent_encode(" !\"#$&'()*+,-./09:;<=>?@AZ[\\]^_`az{|}~"),
            " !\"#$&'()*+,-./09:;<=>?@AZ[\\]^_`az{|}~");
}

TEST(PercentEncode, EncodesAllOtherBytes) {
  EXPECT_EQ(percent_encode("100%"), "100%25");
  EXPECT_EQ(percent_encode(std::string_view("\0\n\x1f\x7f", 4)),
            "%00%0A%1F%7F");
  EXPECT_EQ(percent_encode("\xc3\xa4\xff"), "%C3%A4%FF");
}

}  // namespace
}  // namespace limitree::server
