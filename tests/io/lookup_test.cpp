#include <gtest/gtest.h>

#include <string>

#include "io/address.hpp"
#include "io/failure.hpp"

namespace limitree {
namespace {

TEST(AddressOf, IsWhatParseReads) {
  EXPECT_EQ(address_of("", 1), ":1");
  EXPECT_EQ(address_of("127.0.0.1", 8081), "127.0.0.1:8081");
  EXPECT_EQ(address_of("::1", 0), "[::1]:0");
  const std::string local = address_of("localhost", 7);
  EXPECT_TRUE(local == "127.0.0.1:7" || local == "[::1]:7") << local;
  EXPECT_THROW(address_of("no such host", 1), Failure);
}

TEST(ParseEndpoint, TakesAHostAndAPort) {
  EXPECT_EQ(parse_endpoint("localhost:18000"),
            (Endpoint{"localhost", 18'000, ""}));
  EXPECT_EQ(parse_endpoint("[::1]:1"), (Endpoint{"::1", 1, ""}));
  for (const char* text : {"", "localhost", ":1", "localhost:", "::1:1",
                           "localhost:65536", "localhost:-1", "a:1 "}) {
    try {
      parse_endpoint(text);
      ADD_FAILURE() << text;
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.what(), "'" + std::string(text) +
                                    "' is no place such as localhost:18000");
    }
  }
}

}  // namespace
}  // namespace limitree
