#include <gtest/gtest.h>

#include <string>

#include "services/answers.hpp"

namespace limitree::server {
namespace {

limitree_decision unlimited() {
  limitree_decision decision{};
  decision.limit = decision.remaining = decision.retry_after_ns = -1;
  decision.level = -1;
  decision.flags = LIMITREE_UNLIMITED;
  return decision;
}

TEST(WriteDecision, LeavesOutWhatIsNotThere) {
  std::string out;
  write_decision(unlimited(), {}, &out);
  EXPECT_EQ(out, "\x60\x01");  // only `unlimited`
}

TEST(WriteDecision, AZeroThatMeansSomethingIsWritten) {
  limitree_decision decision{};
  decision.limit = 5;
  decision.retry_after_ns = 1;
  decision.limited = 1;
  decision.level_count = 1;
  std::string out;
  write_decision(decision, {}, &out);
  EXPECT_EQ(
      out, std::string("\x08\x01\x10\x05\x18\x00\x20\x01\x40\x00\x48\x01", 12));
}

TEST(WriteDecision, ALevelNamesItsUnit) {
  limitree_level level{};
  level.policy = {"a", 1};
  level.retry_after_ns = -1;
  level.unit = {"tokens", 6};
  std::string out;
  write_decision(unlimited(), {&level, 1}, &out);
  EXPECT_EQ(out, "\x52\x0b\x0a\x01\x61\x7a\x06tokens\x60\x01");
}

TEST(CodeOf, EveryErrorHasACode) {
  EXPECT_EQ(code_of(LIMITREE_INVALID_ARGUMENT), GrpcCode::kInvalidArgument);
  EXPECT_EQ(code_of(LIMITREE_UNKNOWN_ROOT), GrpcCode::kNotFound);
  EXPECT_EQ(code_of(LIMITREE_OUT_OF_MEMORY), GrpcCode::kResourceExhausted);
  EXPECT_EQ(code_of(LIMITREE_STORE_UNAVAILABLE), GrpcCode::kUnavailable);
  EXPECT_EQ(code_of(LIMITREE_CANCELLED), GrpcCode::kUnavailable);
  EXPECT_EQ(code_of(LIMITREE_STORE_TIMEOUT), GrpcCode::kDeadlineExceeded);
  EXPECT_EQ(code_of(LIMITREE_STORE_PROTOCOL), GrpcCode::kInternal);
  EXPECT_EQ(code_of(LIMITREE_INTERNAL), GrpcCode::kInternal);
}

}  // namespace
}  // namespace limitree::server
