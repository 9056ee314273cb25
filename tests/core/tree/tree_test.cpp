// What match() does with paths, good and bad.

#include "tree/tree.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "core/tree/loaded.hpp"

namespace limitree::tree_test {
namespace {

constexpr std::string_view kLimits = R"(
schema:
  user:
    limits: {count: 100, period: 1s, cost: 3}
    children:
      "*":
        limits: [15, 30, 60]
        children:
          trade:
            limits:
              - 5/s
              - {name: daily, count: 50, period: 1d, mode: shadow}
  ip:
    key: ip
    children:
      "*": {limits: 20/s}
      10.0.0.1: {limits: 1/s}
)";

// Whatever the tier, there is one bucket, and the tier says which limit it has.
TEST(Match, TiersHaveOneBucket) {
  const Tree tree = loaded(R"(
schema:
  user:
    children:
      "*":
        key: tier
        children:
          free: {limits: 5/m}
          pro: {limits: 500/m, children: {trade: {limits: 50/m}}}
          "team-*": {limits: 50/m}
          "*": {limits: 1/m}
  other: {children: {"*": {key: tier, children: {free: {limits: 5/m}}}}}
)");
  const auto met = [&](const Segments& path) {
    Plan plan(Operation::kAuthorize);
    EXPECT_TRUE(tree.match(path, 1, &plan).ok());
    std::string text;
    for (const Level& level : plan.levels) {
      text += std::to_string(level.limit->count) + " " +
              bucket_name(plan, level) + ";";
    }
    return text;
  };
  EXPECT_EQ(met({"user", "alex", "free"}), "5 user:alex:*;");
  EXPECT_EQ(met({"user", "alex", "pro", "trade"}),
            "500 user:alex:*;50 user:alex:*:trade;");
  EXPECT_EQ(met({"user", "alex", "team-7"}), "50 user:alex:*;");
  EXPECT_EQ(met({"user", "alex", "unknown"}), "1 user:alex:*;");
  EXPECT_EQ(met({"user", "alex", "*"}), "1 user:alex:*;");
  EXPECT_EQ(met({"user", "bob", "free"}), "5 user:bob:*;");
  EXPECT_EQ(met({"other", "bob", "free"}), "5 other:bob:*;");
  EXPECT_EQ(met({"other", "bob", "unknown"}), "");
}

TEST(Match, AppendsSegmentsAndLevels) {
  const Tree tree = loaded(kLimits);
  const Segments path = {"user", "alex", "trade", "beyond"};
  Plan plan(Operation::kAuthorize);
  ASSERT_TRUE(tree.match(path, 2, &plan).ok());

  ASSERT_EQ(plan.segments.size(), 3U);
  EXPECT_EQ(plan.segments[0].text, "user");
  EXPECT_EQ(plan.segments[0].kind, Segment::Kind::kExact);
  EXPECT_EQ(plan.segments[1].kind, Segment::Kind::kCaller);
  EXPECT_EQ(plan.segments[1].text.data(), path[1].data());  // borrowed
  EXPECT_EQ(plan.segments[2].kind, Segment::Kind::kExact);

  ASSERT_EQ(plan.levels.size(), 4U);
  EXPECT_EQ(plan.levels[0].cost, 6);
  EXPECT_EQ(plan.levels[0].depth, 1U);
  EXPECT_EQ(plan.levels[1].cost, 2);
  EXPECT_EQ(plan.levels[1].depth, 2U);
  EXPECT_EQ(plan.levels[3].depth, 3U);
  EXPECT_EQ(plan.levels[3].limit->name, "daily");
  for (const Level& level : plan.levels) {
    EXPECT_EQ(level.limit, &tree.limits_of("user")[level.limit->index]);
    EXPECT_EQ(level.first, 0U);
    EXPECT_EQ(level.path, 0U);
  }
  EXPECT_EQ(bucket_name(plan, plan.levels[2]), "user:alex:trade#5/1s");
  EXPECT_EQ(bucket_name(plan, plan.levels[3]), "user:alex:trade#daily");
}

TEST(Match, AppendsToWhatIsThere) {
  const Tree tree = loaded(kLimits);
  const Segments one = {"user", "alex"};
  const Segments two = {"ip", "::ffff:10.0.0.1"};
  Plan plan(Operation::kAuthorize);
  ASSERT_TRUE(tree.match(one, 1, &plan).ok());
  ASSERT_TRUE(tree.match(two, 1, &plan).ok());
  ASSERT_EQ(plan.levels.size(), 3U);
  EXPECT_EQ(plan.levels[2].first, 2U);
  EXPECT_EQ(plan.levels[2].depth, 2U);
  EXPECT_EQ(plan.segments[3].kind, Segment::Kind::kCaller);
  EXPECT_EQ(bucket_name(plan, plan.levels[2]), "ip:10.0.0.1");
}

TEST(Match, LeavesThePlanAsItWasOnError) {
  const Tree tree = loaded(kLimits);
  const Segments good = {"user", "alex"};
  Plan plan(Operation::kAuthorize);
  ASSERT_TRUE(tree.match(good, 1, &plan).ok());
  for (const Segments& bad :
       {Segments{}, Segments{"usr"}, Segments{"ip", "localhost"}}) {
    EXPECT_FALSE(tree.match(bad, 1, &plan).ok());
    EXPECT_EQ(plan.segments.size(), 2U);
    EXPECT_EQ(plan.levels.size(), 2U);
  }
}

TEST(Match, SaysWhatIsWrong) {
  const Tree tree = loaded(kLimits);
  Plan plan(Operation::kAuthorize);
  const auto refusal = [&](const Segments& path) {
    const Status status = tree.match(path, 1, &plan);
    return std::pair(status.code(),
                     status.ok() ? "" : status.error().messages.front());
  };
  EXPECT_EQ(refusal({}), std::pair(Code::kInvalidArgument,
                                   std::string("the path is empty")));
  EXPECT_EQ(refusal({"usr", "alex"}),
            std::pair(Code::kUnknownRoot,
                      std::string("unknown root \"usr\", the tree has: user, "
                                  "ip")));
  EXPECT_EQ(refusal({"ip", "1.2.3.4.5\n"}),
            std::pair(Code::kInvalidArgument,
                      std::string("segment 1 \"1.2.3.4.5\\x0A\" is not an IP "
                                  "address")));
  EXPECT_EQ(refusal({"user\0"}).first, Code::kOk);
  EXPECT_EQ(refusal({std::string_view("user\0", 5)}).first, Code::kUnknownRoot);
  EXPECT_EQ(refusal({""}).first, Code::kUnknownRoot);
}

// Somebody forgot the id.  To say nothing would mean that nobody is limited.
TEST(Match, APathThatEndsBeforeAnyLimitIsRefused) {
  const Tree tree = loaded(R"(
schema:
  user:
    children:
      "*":
        children: {trade: {limits: 1/s}}
      carol: {limits: []}
  site: {limits: 1/s, children: {"*": {children: {x: {limits: 1/s}}}}}
  ip:
    key: ip
    children:
      "10.0.0.0/8": {limits: []}
      "*": {limits: 1/s}
  free: {}
)");
  const auto refusal = [&tree](const Segments& path) {
    Plan plan(Operation::kPeek);
    plan.segments.emplace_back("kept", Segment::Kind::kExact);
    const Status status = tree.match(path, 1, &plan);
    if (status.ok()) return std::string();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_EQ(plan.segments.size(), 1u);
    EXPECT_FALSE(tree.explain(path).ok());
    return status.error().messages[0];
  };
  EXPECT_EQ(refusal({"user"}),
            "the path ends at user, which has no limits; an id is missing");
  EXPECT_EQ(refusal({"ip"}),
            "the path ends at ip, which has no limits; an id is missing");
  EXPECT_EQ(refusal({"user", "alex"}),
            "the path ends at user:*, which has no limits; a name is missing");
  // A limit was met, or it is stated that there are none, or there is nothing
  // below, or the rest of the path leads nowhere.
  EXPECT_EQ(refusal({"site"}), "");
  EXPECT_EQ(refusal({"site", "main"}), "");
  EXPECT_EQ(refusal({"user", "carol"}), "");
  EXPECT_EQ(refusal({"ip", "10.1.2.3"}), "");
  EXPECT_EQ(refusal({"free"}), "");
  EXPECT_EQ(refusal({"user", "alex", "login"}), "");

  // Of several paths each by itself.
  Plan plan(Operation::kPeek);
  const Segments first = {"user", "alex", "trade"};
  ASSERT_TRUE(tree.match(first, 1, &plan).ok());
  const Segments second = {"user"};
  EXPECT_FALSE(tree.match(second, 1, &plan).ok());
  EXPECT_EQ(plan.levels.size(), 1u);
}

TEST(Match, NamesAFewRootsOnly) {
  std::string yaml = "schema:\n";
  for (int i = 1; i <= 9; ++i) yaml += "  r" + std::to_string(i) + ": {}\n";
  EXPECT_EQ(levels(loaded(yaml), {"x"}),
            Strings{"unknown root \"x\", the tree has: r1, r2, r3, r4, r5 and "
                    "4 more"});
  EXPECT_EQ(levels(Tree(), {"x"}),
            Strings{"unknown root \"x\", the tree is empty"});
  EXPECT_TRUE(levels(loaded(yaml), {"r9"}).empty());
}

TEST(Match, CostIsHeldAtTheLargest) {
  const Tree tree = loaded(kLimits);
  const Segments path = {"user"};
  Plan plan(Operation::kAuthorize);
  ASSERT_TRUE(tree.match(path, INT64_MAX, &plan).ok());
  EXPECT_EQ(plan.levels[0].cost, INT64_MAX);
  plan.levels.clear();
  ASSERT_TRUE(tree.match(path, 0, &plan).ok());
  EXPECT_EQ(plan.levels[0].cost, 0);
}

TEST(Match, AnyBytesAreASegment) {
  const Tree tree = loaded(kLimits);
  const std::string megabyte(1 << 20, 'x');
  for (const std::string_view segment :
       {std::string_view(megabyte), std::string_view("\0", 1),
        std::string_view("\xff\xfe"), std::string_view(""),
        std::string_view("*")}) {
    EXPECT_EQ(levels(tree, {"user", segment, "trade"}).size(), 4U);
  }
  EXPECT_EQ(levels(tree, {"user", "*"})[1], "user:* user:%2A 16");
  EXPECT_EQ(levels(tree, {"user", ""})[1], "user:* user:% 16");
  EXPECT_EQ(levels(tree, {"ip", megabyte}).size(), 1U);  // the refusal
}

TEST(Match, LongPathsEndWhereTheTreeDoes) {
  const Tree tree = loaded(kLimits);
  const Segments path(1'000'000, "user");
  Plan plan(Operation::kAuthorize);
  ASSERT_TRUE(tree.match(path, 1, &plan).ok());
  EXPECT_EQ(plan.segments.size(), 2U);
}

TEST(Match, DeepTreesOutgrowThePlansOwnRoom) {
  std::string yaml = "schema: {a: {limits: [1/s, 2/s]";
  for (int i = 0; i < 30; ++i) yaml += ", children: {a: {limits: [1/s, 2/s]";
  for (int i = 0; i < 30; ++i) yaml += "}}";
  const Tree tree = loaded(yaml + "}}");
  const Strings found = levels(tree, Segments(31, "a"));
  ASSERT_EQ(found.size(), 62U);
  EXPECT_EQ(found[0], "a#1/1s a#1/1s 1");
  EXPECT_EQ(found[3], "a:a#2/1s a:a#2/1s 2");
}

TEST(Match, Ipv6CallersAreGrouped) {
  const Tree tree = loaded(R"(
schema:
  ip:
    key: ip
    children:
      "*": {limits: 1/s}
      "2001:db8:1::/48": {limits: 2/s}
      "2001:db8:1:2:3::/80": {limits: 3/s}
      "2001:db8:2::/48": {limits: 4/s, share: true}
      "2001:db8::7": {limits: 5/s}
  whole:
    key: ip
    ipv6_prefix: 128
    children: {"*": {limits: 1/s}}
)");
  const auto bucket = [&](std::string_view root, std::string_view address) {
    const Segments path = {root, address};
    Plan plan(Operation::kPeek);
    EXPECT_TRUE(tree.match(path, 1, &plan).ok());
    return std::string(plan.segments[1].text);
  };
  EXPECT_EQ(bucket("ip", "2001:db8:0:0:ffff::1"), "2001:db8::/64");
  EXPECT_EQ(bucket("ip", "2001:db8:1:9::1"), "2001:db8:1:9::/64");
  EXPECT_EQ(bucket("ip", "2001:db8:1:2:3:4:5:6"), "2001:db8:1:2:3::/80");
  EXPECT_EQ(bucket("ip", "2001:db8:2:9::1"), "2001:db8:2::/48");
  EXPECT_EQ(bucket("ip", "2001:db8::7"), "2001:db8::7");
  EXPECT_EQ(bucket("ip", "fe80::1%eth0"), "fe80::/64");
  EXPECT_EQ(bucket("ip", "::ffff:192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(bucket("ip", "64:ff9b::192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(bucket("whole", "2001:DB8::7"), "2001:db8::7");
}

TEST(Match, SharedBucketIsNotACallersOfTheSameName) {
  const Tree tree = loaded(R"(
schema:
  file:
    children:
      "a*": {share: true, limits: 1/s}
      "*a*": {limits: 2/s}
)");
  EXPECT_EQ(levels(tree, {"file", "abc"}), Strings{"file:a* file:a* 1"});
  EXPECT_EQ(levels(tree, {"file", "xa*"}), Strings{"file:*a* file:xa%2A 2"});
}

TEST(Tree, MovesAndKeepsItsLimits) {
  Tree tree = loaded(kLimits);
  const Limit* const first = tree.limits_of("user").data();
  Tree other = std::move(tree);
  EXPECT_EQ(other.limits_of("user").data(), first);
  tree = std::move(other);
  EXPECT_EQ(levels(tree, {"ip", "10.0.0.1"}),
            Strings{"ip:10.0.0.1 ip:10.0.0.1 1"});
  EXPECT_TRUE(Tree().limits().empty());
}

}  // namespace
}  // namespace limitree::tree_test
