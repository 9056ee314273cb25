#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "web/answers.hpp"
#include "web/requests.hpp"

namespace limitree::server {
namespace {

// "receipt cost hold_ns, 5 tokens", or what is wrong.
std::string read_one(const HoldOperation& one, std::string_view body) {
  ReceiptJson request;
  try {
    request.read(one, body);
  } catch (const JsonError& error) {
    return error.what();
  }
  std::string text(request.receipt);
  text += ' ' + std::to_string(request.cost);
  text += ' ' + std::to_string(request.hold_ns);
  for (const limitree_cost& cost : request.costs) {
    text += ", " + std::to_string(cost.units) + ' ';
    text.append(cost.unit.data, cost.unit.size);
  }
  return text;
}

std::string settle(std::string_view body) {
  return read_one(kHoldOperations[1], body);
}
std::string cancel(std::string_view body) {
  return read_one(kHoldOperations[2], body);
}
std::string extend(std::string_view body) {
  return read_one(kHoldOperations[3], body);
}

TEST(ReceiptJson, Reads) {
  EXPECT_EQ(settle(R"({"receipt": "a"})"), "a -1 0");
  EXPECT_EQ(settle(R"({"receipt": "a", "cost": 5})"), "a 5 0");
  EXPECT_EQ(settle(R"({"cost": {"request": "2", "tokens": 40},
                       "receipt": "a"})"),
            "a 2 0, 40 tokens");
  EXPECT_EQ(settle(R"({"receipt": "a", "costs": {"tokens": 40}})"),
            "a -1 0, 40 tokens");
  EXPECT_EQ(settle(R"({"receipt": "", "cost": {"tokens": 0}})"),
            " -1 0, 0 tokens");
  EXPECT_EQ(cancel(R"({"receipt": "a"})"), "a -1 0");
  EXPECT_EQ(extend(R"({"receipt": "a", "hold_ns": 7})"), "a -1 7");
}

TEST(ReceiptJson, Mistakes) {
  EXPECT_EQ(settle("{}"), "the request: has no receipt");
  EXPECT_EQ(settle(R"({"receipt": 1})"), "receipt: must be a text");
  EXPECT_EQ(settle(R"({"receipt": "a", "cost": -1})"),
            "cost: must be a whole number from 0 to 9223372036854775807");
  EXPECT_EQ(settle(R"({"receipt": "a", "paths": []})"),
            "paths: there is no such field");
  EXPECT_EQ(settle(R"({"receipt": "a", "hold_ns": 1})"),
            "hold_ns: there is no such field");
  EXPECT_EQ(cancel(R"({"receipt": "a", "cost": 1})"),
            "cost: there is no such field");
  EXPECT_EQ(extend(R"({"receipt": "a", "cost": 1})"),
            "cost: there is no such field");
  EXPECT_EQ(extend(R"({"receipt": "a", "hold_ns": -1})"),
            "hold_ns: must be a whole number from 0 to 9223372036854775807");
}

TEST(ReceiptJson, NothingIsLeftOfTheOneBefore) {
  ReceiptJson request;
  request.read(kHoldOperations[1],
               R"({"receipt": "a", "cost": {"request": 5, "tokens": 1}})");
  request.read(kHoldOperations[1], R"({"receipt": "b"})");
  EXPECT_EQ(request.cost, LIMITREE_AS_HELD);
  EXPECT_TRUE(request.costs.empty());
}

TEST(PathRequest, OnlyAReservationHasATime) {
  PathRequest request;
  const std::string body = R"({"paths": [["a"]], "hold_ns": 5})";
  request.read(body, PathRequest::For::kReservation);
  EXPECT_EQ(request.hold_ns(), 5);
  EXPECT_THROW(request.read(body), JsonError);
  EXPECT_THROW(request.read(body, PathRequest::For::kReset), JsonError);
  request.read(R"({"paths": [["a"]]})", PathRequest::For::kReservation);
  EXPECT_EQ(request.hold_ns(), 0);
}

TEST(Settlement, Json) {
  limitree_decision decision{};
  decision.held = 3;
  std::string out;
  append_settlement(decision, "settled", &out);
  EXPECT_EQ(out, R"({"settled":3,"source":"store"})");
}

}  // namespace
}  // namespace limitree::server
