#include "base/status.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace limitree {
namespace {

TEST(Status, OfStaticErrors) {
  for (int i = 0; i < 3; ++i) {
    Status status = Status::no_memory();
    EXPECT_EQ(status.code(), Code::kOutOfMemory);
    EXPECT_EQ(status.message(), "no memory");
    const Status moved = std::move(status);
    EXPECT_EQ(&moved.error(), &Status::no_memory().error());
  }
  EXPECT_EQ(Status::limiter_is_closed().code(), Code::kCancelled);
}

// A sanitizer sees if they are not freed.
TEST(Status, CopiesOfStaticErrorsAreFreed) {
  const Status copy(Error(Status::no_memory().error()));
  EXPECT_NE(&copy.error(), &Status::no_memory().error());
  EXPECT_FALSE(copy.error().is_static);
}

}  // namespace
}  // namespace limitree
