// Inheritance, and the order in which children match.

#include "tree/compile.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <string>

#include "core/sanitizers.hpp"
#include "core/tree/loaded.hpp"

namespace limitree {
namespace {

TEST(Inheritance, OverrideChangesOnlyWhatItNames) {
  const Tree tree = loaded(R"(
schema:
  user:
    children:
      "*":
        limits: [15, 30, 60]
        children:
          trade: {limits: [5, 10, 15]}
      carol: {limits: {burst: 300, count: 600, period: 1m}}
      dave: {children: {trade: {limits: [99, 10, 15]}}}
      erin: {limits: []}
      frank: {inherit: false}
)");
  EXPECT_EQ(levels(tree, {"user", "alex", "trade"}),
            (Strings{"user:* user:alex 16", "user:*/trade user:alex:trade 6"}));
  EXPECT_EQ(levels(tree, {"user", "carol", "trade"}),
            (Strings{"user:carol user:carol 300",
                     "user:*/trade user:carol:trade 6"}));
  EXPECT_EQ(
      levels(tree, {"user", "dave", "trade"}),
      (Strings{"user:* user:dave 16", "user:dave/trade user:dave:trade 100"}));
  EXPECT_EQ(levels(tree, {"user", "erin", "trade"}),
            Strings{"user:*/trade user:erin:trade 6"});
  EXPECT_TRUE(levels(tree, {"user", "frank", "trade"}).empty());
}

TEST(Inheritance, ChildrenMergeByNameAllTheWayDown) {
  const Tree tree = loaded(R"(
schema:
  user:
    children:
      "*":
        children:
          trade:
            limits: 1/s
            children:
              spot: {limits: 2/s}
              margin: {limits: 3/s}
      carol:
        children:
          trade:
            children:
              spot: {limits: 20/s}
)");
  EXPECT_EQ(levels(tree, {"user", "carol", "trade", "spot"}),
            (Strings{"user:*/trade user:carol:trade 1",
                     "user:carol/trade/spot user:carol:trade:spot 20"}));
  EXPECT_EQ(levels(tree, {"user", "carol", "trade", "margin"}),
            (Strings{"user:*/trade user:carol:trade 1",
                     "user:*/trade/margin user:carol:trade:margin 3"}));
}

TEST(Inheritance, NameGoesBeforeSibling) {
  // carol/trade can take its limits from */trade or from carol/*.
  const Tree tree = loaded(R"(
schema:
  user:
    children:
      "*":
        children:
          trade: {limits: 1/s}
      carol:
        children:
          trade: {}
          other: {}
          "*": {limits: 2/s, children: {deep: {limits: 3/s}}}
)");
  EXPECT_EQ(levels(tree, {"user", "carol", "trade"}),
            Strings{"user:*/trade user:carol:trade 1"});
  EXPECT_EQ(levels(tree, {"user", "carol", "other"}),
            Strings{"user:carol/* user:carol:other 2"});
  EXPECT_EQ(levels(tree, {"user", "carol", "trade", "deep"}),
            (Strings{"user:*/trade user:carol:trade 1",
                     "user:carol/*/deep user:carol:trade:deep 3"}));
}

TEST(Inheritance, SiblingsInsideAMergedNodeInherit) {
  const Tree tree = loaded(R"(
schema:
  user:
    children:
      "*": {children: {"*": {limits: 7/s}}}
      carol: {children: {trade: {}}}
)");
  EXPECT_EQ(levels(tree, {"user", "carol", "trade"}),
            Strings{"user:*/* user:carol:trade 7"});
}

TEST(Inheritance, PatternsInheritButShareIsTheirOwn) {
  const Tree tree = loaded(R"(
schema:
  user:
    children:
      "*": {limits: 1/s, children: {"f*": {share: true, limits: 2/s}}}
      "bot-*": {share: true}
      carol: {children: {"f*": {limits: 3/s}}}
)");
  EXPECT_EQ(levels(tree, {"user", "bot-1"}), Strings{"user:* user:bot-* 1"});
  EXPECT_EQ(levels(tree, {"user", "bot-1", "f1"}),
            (Strings{"user:* user:bot-* 1", "user:*/f* user:bot-*:f* 2"}));
  EXPECT_EQ(levels(tree, {"user", "carol", "f1"}),
            (Strings{"user:* user:carol 1", "user:carol/f* user:carol:f1 3"}));
}

TEST(Inheritance, FalseTakesNothingFromAnywhere) {
  const Tree tree = loaded(R"(
schema:
  user:
    children:
      "*":
        children: {trade: {limits: 1/s, children: {spot: {limits: 2/s}}}}
      carol:
        children:
          trade: {inherit: false, limits: 5/s}
          "*": {children: {spot: {limits: 6/s}}}
)");
  EXPECT_EQ(levels(tree, {"user", "carol", "trade", "spot"}),
            Strings{"user:carol/trade user:carol:trade 5"});
}

TEST(Inheritance, KeyIsTakenWithTheChildren) {
  const Tree tree = loaded(R"(
schema:
  site:
    children:
      "*":
        key: ip
        ipv6_prefix: 48
        children: {"*": {limits: 1/s}}
      main: {children: {"10.0.0.0/8": {limits: []}}}
      other: {ipv6_prefix: 56}
)");
  EXPECT_TRUE(levels(tree, {"site", "main", "10.0.0.1"}).empty());
  EXPECT_EQ(levels(tree, {"site", "main", "::ffff:11.0.0.1"}),
            Strings{"site:*/* site:main:11.0.0.1 1"});
  EXPECT_EQ(levels(tree, {"site", "other", "2001:db8::1"}),
            Strings{"site:*/* site:other:2001%3Adb8%3A%3A/56 1"});
  EXPECT_EQ(levels(tree, {"site", "x", "2001:db8::1"}),
            Strings{"site:*/* site:x:2001%3Adb8%3A%3A/48 1"});
}

TEST(Inheritance, AddressesMergeInAnyForm) {
  const Tree tree = loaded(R"(
schema:
  site:
    children:
      "*":
        key: ip
        children:
          10.0.0.1: {limits: 1/s, children: {x: {limits: 2/s}}}
          "2001:db8::/32": {limits: 3/s}
      main:
        children:
          "::ffff:10.0.0.1": {limits: 4/s}
          "2001:0DB8::/32": {share: true}
)");
  EXPECT_EQ(levels(tree, {"site", "main", "10.0.0.1", "x"}),
            (Strings{"site:main/%3A%3Affff%3A10.0.0.1 site:main:10.0.0.1 4",
                     "site:*/10.0.0.1/x site:main:10.0.0.1:x 2"}));
  EXPECT_EQ(levels(tree, {"site", "main", "2001:db8:1::1"}),
            Strings{"site:*/2001%3Adb8%3A%3A/32 "
                    "site:main:2001%3Adb8%3A%3A/32 3"});
}

TEST(Matching, ExactThenNetworkThenGlobThenAny) {
  const Tree tree = loaded(R"(
schema:
  ip:
    key: ip
    children:
      "*": {limits: 1/s}
      "10.*": {limits: 2/s}
      "10.0.0.0/8": {limits: 3/s}
      "10.1.0.0/16": {limits: 4/s}
      "0.0.0.0/0": {limits: 5/s}
      10.1.1.1: {limits: 6/s}
      "2001:db8::*": {limits: 7/s}
)");
  EXPECT_EQ(levels(tree, {"ip", "10.1.1.1"}),
            Strings{"ip:10.1.1.1 ip:10.1.1.1 6"});
  EXPECT_EQ(levels(tree, {"ip", "10.1.1.2"}),
            Strings{"ip:10.1.0.0/16 ip:10.1.1.2 4"});
  EXPECT_EQ(levels(tree, {"ip", "10.2.1.2"}),
            Strings{"ip:10.0.0.0/8 ip:10.2.1.2 3"});
  EXPECT_EQ(levels(tree, {"ip", "11.0.0.1"}),
            Strings{"ip:0.0.0.0/0 ip:11.0.0.1 5"});
  EXPECT_EQ(levels(tree, {"ip", "2001:DB8::5"}),
            Strings{"ip:2001%3Adb8%3A%3A* ip:2001%3Adb8%3A%3A/64 7"});
  EXPECT_EQ(levels(tree, {"ip", "2002::5"}),
            Strings{"ip:* ip:2002%3A%3A/64 1"});
}

TEST(Matching, GlobWithMostLiteralsThenTheFirst) {
  const Tree tree = loaded(R"(
schema:
  file:
    children:
      "a*": {limits: 1/s}
      "*b": {limits: 2/s}
      "a*bc*": {limits: 3/s}
      "*": {limits: 4/s}
)");
  EXPECT_EQ(levels(tree, {"file", "abc"}), Strings{"file:a*bc* file:abc 3"});
  EXPECT_EQ(levels(tree, {"file", "ab"}), Strings{"file:a* file:ab 1"});
  EXPECT_EQ(levels(tree, {"file", "xb"}), Strings{"file:*b file:xb 2"});
  EXPECT_EQ(levels(tree, {"file", "x"}), Strings{"file:* file:x 4"});
}

TEST(Matching, NeverGoesBack) {
  const Tree tree = loaded(R"(
schema:
  a:
    children:
      b: {inherit: false, limits: 1/s}
      "*": {children: {c: {limits: 2/s}}}
)");
  EXPECT_EQ(levels(tree, {"a", "b", "c"}), Strings{"a:b a:b 1"});
}

TEST(Matching, ManyNamesAndNetworks) {
  std::string yaml = "schema:\n  ip:\n    key: ip\n    children:\n";
  for (int i = 0; i < 256; ++i) {
    const std::string n = std::to_string(i);
    yaml += "      10.0." + n +
            ".0/24: {limits: {count: " + std::to_string(i + 1) +
            ", period: 1m}}\n";
    yaml += "      10.1." + n +
            ".0/32: {limits: {count: " + std::to_string(i + 1) +
            ", period: 1m}}\n";
    yaml += "      10.2.0." + n +
            ": {limits: {count: " + std::to_string(i + 1) + ", period: 1m}}\n";
  }
  const Tree tree = loaded(yaml);
  for (int i = 0; i < 256; ++i) {
    const std::string n = std::to_string(i);
    const std::string count = " " + std::to_string(i + 1);
    const std::string in24 = "10.0." + n + ".77";
    EXPECT_EQ(levels(tree, {"ip", in24}),
              Strings{"ip:10.0." + n + ".0/24 ip:" + in24 + count});
    EXPECT_EQ(levels(tree, {"ip", "10.1." + n + ".0"}).size(), 1U);
    EXPECT_EQ(levels(tree, {"ip", "10.1." + n + ".1"}).size(), 0U);
    EXPECT_EQ(levels(tree, {"ip", "10.2.0." + n}),
              Strings{"ip:10.2.0." + n + " ip:10.2.0." + n + count});
  }
}

// At each of `depth` levels there are `width` names and "*", each name with a
// chain of "*" below it that reaches the bottom.  The limits on a path differ
// for every path, so no nodes can be shared.
std::string bomb(int width, int depth) {
  std::string yaml = "schema: {user: {children: {";
  for (int level = 1; level <= depth; ++level) {
    std::string chain = "{limits: 1/s}";
    for (int below = level; below < depth; ++below) {
      chain = "{children: {\"*\": " + chain + "}}";
    }
    for (int i = 0; i < width; ++i) {
      yaml += "c" + std::to_string(i) + ": " + chain + ",\n";
    }
    yaml += level < depth ? "\"*\": {children: {" : "\"*\": {limits: 1/s}";
  }
  for (int level = 1; level < depth; ++level) yaml += "}}";
  return yaml + "}}}";
}

// The most memory that this process has had.
long peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(Compile, RefusesATreeThatGrowsOutOfHand) {
  EXPECT_TRUE(mistakes(bomb(3, 3)).empty());
  const Strings found = mistakes(bomb(12, 8));
  ASSERT_EQ(found.size(), 1U);
  // One for "user", 441 below it.
  EXPECT_NE(found[0].find("overrides and \"*\" multiply to more than " +
                          std::to_string(max_nodes(441)) + " nodes"),
            std::string::npos)
      << found[0];
}

// What is written takes memory in proportion to its size.
TEST(Compile, TakesNoMoreMemoryThanAMultipleOfTheText) {
  const std::string yaml = bomb(12, 8);
  EXPECT_LT(yaml.size(), 10'000U);
  const long before = peak_kilobytes();
  EXPECT_EQ(mistakes(yaml).size(), 1U);
  // A sanitizer keeps what was freed.
  EXPECT_LT(peak_kilobytes() - before, (kSanitized ? 160 : 40) << 10);
}

// Overrides of many users, each of one endpoint of many.
TEST(Compile, TakesWhatPeopleWrite) {
  std::string yaml = "schema: {user: {children: {\"*\": {children: {";
  for (int i = 0; i < 200; ++i) {
    yaml += "e" + std::to_string(i) + ": {limits: 5/s},\n";
  }
  yaml += "}},\n";
  for (int i = 0; i < 500; ++i) {
    yaml += "u" + std::to_string(i) + ": {children: {e7: {limits: 9/s}}},\n";
  }
  EXPECT_TRUE(mistakes(yaml + "}}}").empty());
}

// `count` limits for one node, each with its own name.
std::string many_limits(int first, int count) {
  std::string limits = "[";
  for (int i = first; i < first + count; ++i) {
    limits += std::to_string(i) + "/s,";
  }
  return limits + "]";
}

// A path may have as many limits as a request may meet, and no more.
TEST(LevelsOfAPath, AreBoundedWhenLimitsAreLoaded) {
  const auto yaml = [](int at_leaf, int by_override) {
    return "schema:\n"
           "  user:\n"
           "    limits: " +
           many_limits(1, 1000) +
           "\n"
           "    children:\n"
           "      '*':\n"
           "        limits: 7/s\n"
           "        children:\n"
           "          trade: {limits: " +
           many_limits(1, at_leaf) +
           "}\n"
           "      carol: {limits: " +
           many_limits(1, by_override) + "}\n";
  };
  EXPECT_EQ(levels(loaded(yaml(3095, 1)), {"user", "alex", "trade"}).size(),
            4096u);
  EXPECT_EQ(mistakes(yaml(3096, 1)),
            Strings{"f:2:3: from here down a path meets 4097 limits, the most "
                    "is 4096"});
  EXPECT_EQ(mistakes(yaml(3000, 97)),
            Strings{"f:2:3: from here down a path meets 4097 limits, the most "
                    "is 4096"});
  EXPECT_EQ(mistakes(yaml(3000, 2000)),
            Strings{"f:9:7: from here down a path meets 5000 limits, the most "
                    "is 4096"});
  EXPECT_EQ(mistakes(yaml(4097, 1)),
            Strings{"f:8:27: 4097 limits, the most on a path is 4096"});
}

TEST(LevelsOfAPath, ThroughAFileOfOverridesToo) {
  const std::string yaml =
      "schema:\n"
      "  user:\n"
      "    overrides: ids.yaml\n"
      "    children: {'*': {limits: 1/s, children: {trade: {limits: " +
      many_limits(1, 4095) + "}}}}\n";
  EXPECT_TRUE(mistakes(yaml, {{"ids.yaml", "carol: 2/s"}}).empty());
  EXPECT_EQ(mistakes(yaml, {{"ids.yaml", "carol: [2/s, 3/s]"}}),
            Strings{"f:4:16: from here down a path meets 4097 limits, the most "
                    "is 4096"});
}

}  // namespace
}  // namespace limitree
