#include <gtest/gtest.h>

#include "http/exchange.hpp"

namespace limitree::server {
namespace {

TEST(HttpDate, IsAsTheStandardWritesIt) {
  EXPECT_EQ(http_date(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(http_date(951782400), "Tue, 29 Feb 2000 00:00:00 GMT");
  EXPECT_EQ(http_date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
}

TEST(HttpDate, IsTheTimeNow) {
  HttpDate date;
  const std::time_t before = std::time(nullptr);
  const std::string now = date.now();
  const std::time_t after = std::time(nullptr);
  bool found = false;
  // The clock may be a little late.
  for (std::time_t at = before - 1; at <= after; ++at) {
    found = found || now == http_date(at);
  }
  EXPECT_TRUE(found) << now;
}

}  // namespace
}  // namespace limitree::server
