// Rules that hold: what stands in a file, and what a request names.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/key.hpp"
#include "base/plan.hpp"
#include "core/descriptors/loaded.hpp"
#include "descriptors/descriptors.hpp"
#include "descriptors/request.hpp"

namespace limitree::holds_test {
namespace {

const std::string kBegin = "domain: d\ndescriptors:\n";

// The file with one rule below a value that names what is held.
std::string with_rule(const std::string& rule) {
  return kBegin + "- {key: a, value_to_hold: true, rate_limit: {" + rule +
         "}}\n";
}

TEST(HoldingRules, Mistakes) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {with_rule("concurrent: 5"),
       "3:45: concurrent needs hold: after that time, the slot of a process "
       "that died is free"},
      {with_rule("concurrent: 0, hold: 1m"),
       "3:58: concurrent must be 1 to 10000, is 0"},
      {with_rule("concurrent: x, hold: 1m"),
       "3:58: concurrent must be a whole number in plain digits, is \"x\""},
      {with_rule("concurrent: 5, hold: 25h"),
       "3:67: hold must be from 1ns to 1d, is 25h"},
      {with_rule("concurrent: 5, hold: 1m, unit: day"),
       "3:77: concurrent and unit exclude each other"},
      {with_rule("concurrent: 5, hold: 1m, requests_per_unit: 7"),
       "3:90: concurrent and requests_per_unit exclude each other"},
      {with_rule("concurrent: 5, hold: 1m, period: 1m"),
       "3:79: concurrent and period exclude each other"},
      {with_rule("concurrent: 5, hold: 1m, burst: 4"),
       "3:78: burst belongs to gcra and leaky_bucket: concurrent admits its "
       "count at once"},
      {with_rule("concurrent: 5, hold: 1m, algorithm: gcra"),
       "3:82: algorithm and concurrent exclude each other"},
      {with_rule("concurrent: 5, hold: 1m, unsettled: free"),
       "3:82: unsettled and concurrent exclude each other: a slot is never "
       "charged"},
      {with_rule("unit: day, requests_per_unit: 5, unsettled: free"),
       "3:90: unsettled needs hold"},
      {with_rule("unit: day, requests_per_unit: 5, hold: 1m, unsettled: x"),
       "3:100: unknown unsettled \"x\", known are: charge, free"},
      {with_rule("unit: day, requests_per_unit: 5, hold: 1m, overrun: "
                 "{percent: 5}"),
       "3:89: overrun and holds exclude each other"},
      {with_rule("unit: day, requests_per_unit: 5, hold: 1m, algorithm: "
                 "sliding_log"),
       "3:85: hold belongs to gcra, fixed_window and concurrent, algorithm is "
       "sliding_log"},
      {with_rule("unlimited: true, hold: 1m"),
       "3:69: should not specify hold when unlimited"},
      {with_rule("unlimited: true, concurrent: 5"),
       "3:75: should not specify concurrent when unlimited"},
      {with_rule("unlimited: true, unsettled: free"),
       "3:74: should not specify unsettled when unlimited"},
      {with_rule("concurrent: [5], hold: 1m"),
       "3:58: concurrent must be a text, is a list"},
      {kBegin + "- {key: a, rate_limit: {concurrent: 5, hold: 1m}}",
       "3:9: a limit that holds needs value_to_hold, here or above: a value "
       "that tells requests apart"},
      {kBegin + "- {key: a, value: b, value_to_hold: true}",
       "3:9: value_to_hold and value exclude each other"},
      {kBegin + "- {key: a, value_to_metric: true, value_to_hold: true}",
       "3:9: value_to_hold and value_to_metric exclude each other"},
      {kBegin + "- {key: a, value_to_hold: true,\n"
                "   descriptors: [{key: b, value_to_hold: true}]}",
       "4:24: value_to_hold stands above already"},
      {kBegin + "- {key: a, hold: 1m}",
       "3:12: config error, key 'hold' belongs to rate_limit, not to a "
       "descriptor"},
      {kBegin + "- {key: a, rate_limit: {unlimited: true, value_to_hold: "
                "true}}",
       "3:42: config error, key 'value_to_hold' belongs to a descriptor, not "
       "to rate_limit"},
  };
  for (const auto& [yaml, message] : cases) {
    const Strings found = mistakes(yaml);
    ASSERT_FALSE(found.empty()) << yaml;
    EXPECT_EQ(found.front(), "d.yaml:" + message) << yaml;
  }
}

const std::string kSlots = kBegin +
                           "- key: user\n"
                           "  descriptors:\n"
                           "  - key: id\n"
                           "    value_to_hold: true\n"
                           "    rate_limit: {concurrent: 2, hold: 30s}\n"
                           "    descriptors:\n"
                           "    - key: model\n"
                           "      rate_limit: {unit: minute, hold: 1m,\n"
                           "                   requests_per_unit: 9}\n"
                           "- {key: all, rate_limit: {unit: minute,\n"
                           "                          requests_per_unit: 5}}\n";

TEST(HoldingRules, AreDescribed) {
  const Descriptors made = loaded(kSlots);
  EXPECT_EQ(
      made.describe(),
      "d\n"
      "  user\n"
      "    id        2 at once, held for at most 30s, value_to_hold\n"
      "      model   9 per 1m, capacity 9, fixed_window, held for at most "
      "1m\n"
      "  all         5 per MINUTE\n");
  const std::vector<Entry> entries = {{"user", "alex"}, {"id", "7"}};
  const std::string text = made.explain("d", entries);
  EXPECT_NE(text.find("it names what is held"), text.npos) << text;
  EXPECT_NE(text.find("d:user:alex:id:*!cc"), text.npos) << text;
  EXPECT_NE(text.find("metric    d.user.id\n"), text.npos) << text;
}

// What does not fit cannot be held.
TEST(HoldingRules, AreNotChargedForHitsThatAreDenied) {
  const auto charges = [](const Descriptors& made) {
    std::vector<Charge> all;
    for (const Rule& rule : made.rules()) all.push_back(rule.limit.charge);
    return all;
  };
  const Descriptors made = loaded(kSlots);
  EXPECT_EQ(charges(made),
            (std::vector{Charge::kIndependent, Charge::kIndependent,
                         Charge::kEveryHit}));
  EXPECT_EQ(charges(made.stopping()),
            (std::vector{Charge::kAllOrNothing, Charge::kAllOrNothing,
                         Charge::kAllOrDenying}));
  EXPECT_EQ(charges(loaded("all_or_nothing: true\n" + kSlots)),
            (std::vector{Charge::kAllOrNothing, Charge::kAllOrNothing,
                         Charge::kAllOrNothing}));
}

TEST(HoldingRules, HaveNoEquivalent) {
  std::vector<std::string> lost;
  limits_from_descriptors(loaded(kSlots), &lost);
  EXPECT_EQ(lost,
            (Strings{"d.yaml:5:10: value_to_hold has no equivalent: programs "
                     "reserve",
                     "d.yaml:9:12: what is above it has no equivalent"}));
}

class NamedHolds : public testing::Test {
 protected:
  Status match(const std::vector<RequestDescriptor>& asked) {
    request_ = {"d", asked, 0};
    return matched_.match(made_, request_);
  }

  // "bucket x cost", for each level of a plan.
  Strings levels(Operation operation) const {
    Plan plan(operation);
    matched_.add_levels(&plan);
    Strings all;
    for (const Level& level : plan.levels) {
      all.push_back(bucket_name(plan, level) + " x " +
                    std::to_string(level.cost));
    }
    return all;
  }

  const Descriptors made_ = loaded(kSlots);
  const std::vector<Entry> first_ = {{"user", "alex"}, {"id", "1"}};
  const std::vector<Entry> deep_ = {
      {"user", "alex"}, {"id", "1"}, {"model", "m"}};
  const std::vector<Entry> second_ = {{"user", "alex"}, {"id", "2"}};
  const std::vector<Entry> nameless_ = {{"user", "alex"}, {"id", ""}};
  const std::vector<Entry> all_ = {{"all", ""}};
  DescriptorRequest request_;
  MatchedRequest matched_;
};

TEST_F(NamedHolds, TheNameIsNotPartOfTheBucket) {
  const std::vector<RequestDescriptor> asked = {{first_}, {deep_}, {all_}};
  ASSERT_TRUE(match(asked).ok());
  EXPECT_EQ(matched_.hold_name(), "1");
  EXPECT_EQ(levels(Operation::kAuthorize),
            (Strings{"d:user:alex:id:*!cc x 1",
                     "d:user:alex:id:*:model:m#minute!fw x 1",
                     "d:all:%#minute!fw x 1"}));
  EXPECT_TRUE(levels(Operation::kRefund).empty());
  EXPECT_TRUE(levels(Operation::kSettle).empty());
}

TEST_F(NamedHolds, WhatIsGivenBackIsSettled) {
  const std::vector<RequestDescriptor> asked = {
      {first_, {}, {}, true}, {deep_, {}, 7, true}, {all_, {}, 3, true}};
  ASSERT_TRUE(match(asked).ok());
  EXPECT_TRUE(levels(Operation::kAuthorize).empty());
  EXPECT_EQ(levels(Operation::kRefund), (Strings{"d:all:%#minute!fw x 3"}));
  // Nobody says how much of the first was used: as held.
  EXPECT_EQ(levels(Operation::kSettle),
            (Strings{"d:user:alex:id:*!cc x -1",
                     "d:user:alex:id:*:model:m#minute!fw x 7"}));
}

TEST_F(NamedHolds, NothingIsNamedIfNothingHolds) {
  const std::vector<RequestDescriptor> asked = {{all_}};
  ASSERT_TRUE(match(asked).ok());
  EXPECT_EQ(matched_.hold_name(), "");
}

TEST_F(NamedHolds, ARequestHasOneName) {
  const std::vector<RequestDescriptor> asked = {{first_}, {second_}};
  const Status status = match(asked);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(),
            R"(two descriptors name what is held, "1" and "2")");
}

TEST_F(NamedHolds, ANameIsNotEmpty) {
  const std::vector<RequestDescriptor> asked = {{nameless_}};
  const Status status = match(asked);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(),
            R"(the entry "id" names what is held, and is empty)");
}

// Its bucket is of this request alone.
TEST_F(NamedHolds, ALimitInTheRequestHoldsNothing) {
  const std::vector<RequestDescriptor> asked = {{first_, RequestLimit{3, 2}}};
  ASSERT_TRUE(match(asked).ok());
  EXPECT_EQ(matched_.hold_name(), "");
  EXPECT_EQ(levels(Operation::kAuthorize),
            (Strings{"d:user:alex:id:1#minute!fw x 1"}));
}

}  // namespace
}  // namespace limitree::holds_test
