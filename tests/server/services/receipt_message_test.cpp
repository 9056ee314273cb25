#include <gtest/gtest.h>

#include <protozero/exception.hpp>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "services/answers.hpp"
#include "services/requests.hpp"

namespace limitree::server {
namespace {

const HoldOperation& kSettles = kHoldOperations[1];
const HoldOperation& kCancels = kHoldOperations[2];
const HoldOperation& kExtends = kHoldOperations[3];

void add_used(std::string_view unit, std::int64_t units,
              protozero::pbf_writer* to) {
  protozero::pbf_writer entry(*to, 3);
  entry.add_string(1, unit.data(), unit.size());
  entry.add_int64(2, units);
}

TEST(ReceiptMessage, ReadsASettlement) {
  std::string bytes;
  protozero::pbf_writer to(bytes);
  to.add_string(1, "lr1.x");
  to.add_int64(2, 5);
  add_used("tokens", 40, &to);
  ReceiptMessage request;
  request.read(kSettles, bytes);
  EXPECT_EQ(request.receipt, "lr1.x");
  EXPECT_EQ(request.cost, 5);
  ASSERT_EQ(request.costs.size(), 1U);
  EXPECT_EQ(request.costs[0].units, 40);
  EXPECT_EQ(request.mistake(), nullptr);
  EXPECT_STREQ(request.operation->counts, "settled");

  // Nothing is left of the one before.
  request.read(kSettles, "");
  EXPECT_EQ(request.receipt, "");
  EXPECT_EQ(request.cost, LIMITREE_AS_HELD);
  EXPECT_TRUE(request.costs.empty());
}

TEST(ReceiptMessage, AFieldIsThatOfItsMessage) {
  std::string bytes;
  protozero::pbf_writer to(bytes);
  to.add_string(1, "lr1.x");
  to.add_int64(2, 7);
  ReceiptMessage request;
  request.read(kExtends, bytes);
  EXPECT_EQ(request.hold_ns, 7);
  EXPECT_EQ(request.cost, LIMITREE_AS_HELD);
  request.read(kCancels, bytes);
  EXPECT_EQ(request.hold_ns, 0);
  EXPECT_EQ(request.cost, LIMITREE_AS_HELD);
  EXPECT_EQ(request.receipt, "lr1.x");
}

TEST(ReceiptMessage, CostsThatCannotBeTaken) {
  ReceiptMessage request;
  for (const std::int64_t cost : {std::int64_t{-1}, INT64_MIN}) {
    std::string bytes;
    protozero::pbf_writer(bytes).add_int64(2, cost);
    request.read(kSettles, bytes);
    EXPECT_STREQ(request.mistake(), "cost must not be negative");
  }
  std::string bytes;
  protozero::pbf_writer to(bytes);
  for (int i = 0; i < 65; ++i) add_used("u" + std::to_string(i), 1, &to);
  request.read(kSettles, bytes);
  EXPECT_STREQ(request.mistake(), "the request has more than 64 costs");
  EXPECT_EQ(request.costs.size(), kMaxCosts);
}

TEST(ReceiptMessage, MalformedBytesThrow) {
  ReceiptMessage request;
  for (const HoldOperation& one : kHoldOperations) {
    for (const std::string_view bytes :
         {std::string_view("\x0a\x05x", 3), std::string_view("\x0a", 1),
          std::string_view("\x10", 1), std::string_view("\x00\x01", 2)}) {
      const std::vector<char> exact(bytes.begin(), bytes.end());
      EXPECT_THROW(request.read(one, {exact.data(), exact.size()}),
                   protozero::exception);
    }
  }
}

TEST(Settlement, HowManyLevelsStillHeld) {
  limitree_decision decision{};
  std::string out;
  write_settlement(decision, &out);
  EXPECT_EQ(out, "");
  decision.held = 2;
  decision.source = LIMITREE_SOURCE_LOCAL;
  write_settlement(decision, &out);
  EXPECT_EQ(out, "\x08\x02\x10\x02");
}

TEST(Settlement, ADeniedDecisionHasNoReceipt) {
  limitree_decision decision{};
  decision.limit = decision.remaining = -1;
  decision.retry_after_ns = decision.level = -1;
  decision.held = 1;
  std::string out;
  write_decision(decision, {}, &out, "lr1.x");
  EXPECT_TRUE(out.ends_with(std::string_view("\x80\x01\x01\x8a\x01\x05lr1.x")))
      << out;
  decision.limited = 1;
  decision.held = 0;
  out.clear();
  write_decision(decision, {}, &out, "lr1.x");
  EXPECT_EQ(out.find("lr1"), out.npos);
}

}  // namespace
}  // namespace limitree::server
