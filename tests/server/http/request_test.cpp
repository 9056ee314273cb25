#include "http/request.hpp"

#include <gtest/gtest.h>

namespace limitree::server {
namespace {

TEST(HttpRequest, TakesTargetsApart) {
  HttpRequest request;
  request.set_target("/stats?a=1&b=?");
  EXPECT_EQ(request.path(), "/stats");
  EXPECT_EQ(request.query(), "a=1&b=?");
  request.set_target("/stats");
  EXPECT_EQ(request.path(), "/stats");
  EXPECT_EQ(request.query(), "");
  request.set_target("*");
  EXPECT_EQ(request.path(), "*");
  request.set_target("/a?");
  EXPECT_EQ(request.path(), "/a");
  EXPECT_EQ(request.query(), "");
}

TEST(HttpRequest, ATargetMayBeAUrl) {
  HttpRequest request;
  request.set_target("http://host:80/stats?a");
  EXPECT_EQ(request.path(), "/stats");
  EXPECT_EQ(request.query(), "a");
  for (const char* const root : {"https://host", "https://host?a", ""}) {
    request.set_target(root);
    EXPECT_EQ(request.path(), "/") << root;
  }
}

TEST(HttpRequest, HasFields) {
  HttpRequest request;
  request.add_field("X-One", "A");
  request.add_field("x-two", "");
  request.add_field("X-ONE", "B");
  EXPECT_EQ(request.field("x-one"), "A");
  EXPECT_EQ(request.count("x-one"), 2u);
  EXPECT_EQ(request.field("x-two"), "");
  EXPECT_EQ(request.count("x-two"), 1u);
  EXPECT_EQ(request.count("x-on"), 0u);
  // From the first letter to the last, and nothing else.
  request.add_field("Accept-ZONE@[", "C");
  EXPECT_EQ(request.field("accept-zone@["), "C");
}

TEST(HttpRequest, IsClearedForTheNextOne) {
  HttpRequest request;
  request.method = "GET";
  request.set_target("/a?b");
  request.add_field("a", "b");
  request.body.assign(100'000, 'x');
  request.clear();
  EXPECT_EQ(request.method + std::string(request.path()), "");
  EXPECT_EQ(request.query(), "");
  EXPECT_EQ(request.count("a"), 0u);
  EXPECT_EQ(request.body, "");
  EXPECT_LT(request.body.capacity(), 100'000u);
}

}  // namespace
}  // namespace limitree::server
