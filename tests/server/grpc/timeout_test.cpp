#include <gtest/gtest.h>

#include "grpc/status.hpp"

namespace limitree::server {
namespace {

TEST(GrpcTimeout, ReadsEachUnit) {
  EXPECT_EQ(parse_grpc_timeout("1H"), 3'600 * kOneSecond);
  EXPECT_EQ(parse_grpc_timeout("2M"), 120 * kOneSecond);
  EXPECT_EQ(parse_grpc_timeout("3S"), 3 * kOneSecond);
  EXPECT_EQ(parse_grpc_timeout("20m"), 20 * kMillisecond);
  EXPECT_EQ(parse_grpc_timeout("5u"), 5 * kMicrosecond);
  EXPECT_EQ(parse_grpc_timeout("99999999n"), Duration(99'999'999));
  EXPECT_EQ(parse_grpc_timeout("0S"), Duration::zero());
  EXPECT_EQ(parse_grpc_timeout("00000001S"), kOneSecond);
}

TEST(GrpcTimeout, WhatIsTooLongIsForEver) {
  EXPECT_EQ(parse_grpc_timeout("99999999H"), kNever);
  EXPECT_EQ(parse_grpc_timeout("2562047H"), 2'562'047LL * 3'600 * kOneSecond);
  EXPECT_EQ(parse_grpc_timeout("2562048H"), kNever);
}

TEST(GrpcTimeout, RefusesEverythingElse) {
  for (const char* const text : {"", "S", "1", "1s", "-1S", "+1S", " 1S", "1 S",
                                 "1.5S", "100000000n", "1SS", "0x1S", "1\n"}) {
    EXPECT_FALSE(parse_grpc_timeout(text)) << text;
  }
}

}  // namespace
}  // namespace limitree::server
