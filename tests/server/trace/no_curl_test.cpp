// This program has trace/no_http_post.cpp.

#include <gtest/gtest.h>

#include "io/failure.hpp"
#include "trace/http_post.hpp"

namespace limitree::server {
namespace {

TEST(NoCurl, SaysWhyNothingIsSent) {
  try {
    make_http_post(MetricSettings());
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_STREQ(failure.what(),
                 "--otlp: this limitree was built without libcurl");
  }
}

}  // namespace
}  // namespace limitree::server
