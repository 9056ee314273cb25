#include "services/decision.hpp"

#include <gtest/gtest.h>

#include <string>

#include "io/trouble.hpp"

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

TEST(StatusOf, EveryErrorHasACode) {
  const auto code = [](limitree_status status) {
    return status_of(status, nullptr).code;
  };
  EXPECT_EQ(code(LIMITREE_INVALID_ARGUMENT), GrpcCode::kInvalidArgument);
  EXPECT_EQ(code(LIMITREE_UNKNOWN_ROOT), GrpcCode::kNotFound);
  EXPECT_EQ(code(LIMITREE_OUT_OF_MEMORY), GrpcCode::kResourceExhausted);
  EXPECT_EQ(code(LIMITREE_STORE_UNAVAILABLE), GrpcCode::kUnavailable);
  EXPECT_EQ(code(LIMITREE_CANCELLED), GrpcCode::kUnavailable);
  EXPECT_EQ(code(LIMITREE_STORE_TIMEOUT), GrpcCode::kDeadlineExceeded);
  EXPECT_EQ(code(LIMITREE_STORE_PROTOCOL), GrpcCode::kInternal);
  EXPECT_EQ(code(LIMITREE_INTERNAL), GrpcCode::kInternal);
  EXPECT_EQ(status_of(LIMITREE_CANCELLED, nullptr).message, "cancelled");
}

std::string told;

TEST(StatusOf, WhatIsWrongWithTheStoreIsNotForClients) {
  listen_to_trouble([](const std::string& why) { told += why + '\n'; });
  const auto message = [](limitree_status status) {
    return status_of(status, nullptr).message;
  };
  EXPECT_EQ(message(LIMITREE_STORE_UNAVAILABLE), "the store does not answer");
  EXPECT_EQ(message(LIMITREE_STORE_TIMEOUT),
            "the store does not answer in time");
  EXPECT_EQ(message(LIMITREE_STORE_PROTOCOL),
            "the store does not answer as it should");
  EXPECT_EQ(message(LIMITREE_INTERNAL), "the server has made a mistake");
  EXPECT_EQ(message(LIMITREE_UNKNOWN_ROOT), "unknown_root");
  listen_to_trouble(nullptr);
  EXPECT_EQ(told,
            "store_unavailable\nstore_timeout\nstore_protocol\ninternal\n");
}

}  // namespace
}  // namespace limitree::server
