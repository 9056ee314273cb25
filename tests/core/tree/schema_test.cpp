// Every rule of limits.yaml, by the files in tests/data/limits/: a bad_*.yaml
// has its messages, a good_*.yaml its describe(), in the .txt next to it.

#include "tree/schema.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "core/tree/loaded.hpp"
#include "text/problems.hpp"

namespace limitree {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path << " is missing";
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<fs::path> files() {
  std::vector<fs::path> found;
  for (const auto& entry :
       fs::directory_iterator(LIMITREE_TEST_DATA "/limits")) {
    if (entry.path().extension() == ".yaml") found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

class LimitsFile : public testing::TestWithParam<fs::path> {};

TEST_P(LimitsFile, IsAnsweredAsExpected) {
  const fs::path& path = GetParam();
  const std::string expected = content(fs::path(path).replace_extension("txt"));
  const auto read = [&path](const std::string& name, std::size_t most) {
    return read_file(path.parent_path() / name, most);
  };
  Result<Tree> tree = load_tree(content(path), path.filename().string(), read);

  const bool good = path.filename().string().starts_with("good_");
  ASSERT_EQ(tree.ok(), good);
  std::string answer;
  if (tree.ok()) {
    answer = tree.value().describe();
  } else {
    EXPECT_EQ(tree.status().code(), Code::kInvalidConfig);
    for (const std::string& message : tree.status().error().messages) {
      answer += message + "\n";
    }
  }
  EXPECT_EQ(answer, expected);
}

INSTANTIATE_TEST_SUITE_P(Files, LimitsFile, testing::ValuesIn(files()),
                         [](const auto& file) {
                           return file.param.stem().string();
                         });

TEST(LimitsFiles, AreThereAndNoneIsLeftOver) {
  EXPECT_GT(files().size(), 100U);
  for (const auto& entry :
       fs::directory_iterator(LIMITREE_TEST_DATA "/limits")) {
    if (entry.is_directory()) continue;  // files that others name
    EXPECT_TRUE(fs::exists(fs::path(entry.path()).replace_extension("yaml")) &&
                fs::exists(fs::path(entry.path()).replace_extension("txt")))
        << entry.path() << " stands alone";
  }
}

TEST(LoadTree, SetsEveryFieldOfALimit) {
  const Tree tree = loaded(
      "schema:\n"
      "  user:\n"
      "    limits:\n"
      "      - {name: a b, count: 30, period: 1m, max_burst: 15, cost: 0,\n"
      "         mode: check, charge: independent, algorithm: token_bucket}\n"
      "      - 500/hour\n");
  ASSERT_EQ(tree.limit_count(), 2U);
  const Limit& first = tree.limits_of("user")[0];
  EXPECT_EQ(first.rate.emission_interval, std::chrono::seconds(2));
  EXPECT_EQ(first.rate.capacity, 16);
  EXPECT_EQ(first.period, std::chrono::minutes(1));
  EXPECT_EQ(first.count, 30);
  EXPECT_EQ(first.cost, 0);
  EXPECT_EQ(first.mode, Mode::kCheck);
  EXPECT_EQ(first.charge, Charge::kIndependent);
  EXPECT_EQ(first.algorithm, Algorithm::kGcra);
  EXPECT_EQ(first.index, 0U);
  EXPECT_EQ(first.name, "a b");
  EXPECT_EQ(first.policy, "user#a%20b");
  EXPECT_EQ(first.suffix, "#a%20b");
  const Limit& second = tree.limits_of("user")[1];
  EXPECT_EQ(second.rate.capacity, 500);
  EXPECT_EQ(second.cost, 1);
  EXPECT_EQ(second.mode, Mode::kEnforce);
  EXPECT_EQ(second.charge, Charge::kAllOrNothing);
  EXPECT_EQ(second.index, 1U);
  EXPECT_EQ(second.name, "500/1h");
  EXPECT_EQ(second.policy, "user#500/1h");
}

TEST(LoadTree, OneLimitHasNoSuffix) {
  const Tree tree =
      loaded("schema: {user: {limits: [{name: x, count: 1, period: 1s}]}}");
  EXPECT_EQ(tree.limits_of("user")[0].name, "x");
  EXPECT_EQ(tree.limits_of("user")[0].suffix, "");
  EXPECT_EQ(tree.limits_of("user")[0].policy, "user");
}

TEST(LoadTree, ChargeOfATopLevelNameHoldsForItsLimitsOnly) {
  const Tree tree = loaded(
      "schema:\n"
      "  a:\n"
      "    limits: 1/s\n"
      "    children: {x: {limits: 1/s}}\n"
      "    charge: independent\n"
      "  b: {limits: 1/s}\n");
  EXPECT_EQ(tree.limits_of("a")[0].charge, Charge::kIndependent);
  EXPECT_EQ(tree.limits_of("a")[1].charge, Charge::kIndependent);
  EXPECT_EQ(tree.limits_of("b")[0].charge, Charge::kAllOrNothing);
}

TEST(LoadTree, RangeOfALimit) {
  const auto with = [](const std::string& limit) {
    return mistakes("schema: {user: {limits: " + limit + "}}");
  };
  const std::string most = "9223372036854775807";
  EXPECT_TRUE(with("{count: 1, period: 1ns, burst: 1}").empty());
  EXPECT_EQ(with("{count: 2, period: 1ns}").size(), 1U);
  EXPECT_TRUE(with("{count: " + most +
                   ", period: 9223372036.854775807, "
                   "burst: 1}")
                  .empty());
  // A bucket that takes 100 years to fill is the largest.
  EXPECT_TRUE(with("{count: 1, period: 1d, burst: 36525}").empty());
  EXPECT_EQ(with("{count: 1, period: 1d, burst: 36526}").size(), 1U);
  EXPECT_EQ(with("{count: 1, period: 1d, burst: " + most + "}").size(), 1U);
  EXPECT_EQ(with("{count: 1, period: 1d, max_burst: " + most + "}").size(), 1U);
  EXPECT_TRUE(with("{count: 1, period: 1s, cost: " + most + "}").empty());
}

TEST(LoadTree, AFileOfMistakesOnly) {
  std::string yaml = "schema:\n  user:\n";
  for (int i = 0; i < 5000; ++i) yaml += "    a" + std::to_string(i) + ": 1\n";
  const Strings found = mistakes(yaml);
  EXPECT_EQ(found.size(), Problems::kMaxMessages + 1);
  EXPECT_EQ(found.back(), "f: and 4000 more");
}

TEST(LoadTree, HundredThousandOverrides) {
  std::string yaml =
      "schema:\n  user:\n    children:\n      \"*\":\n"
      "        limits: [15, 30, 60]\n"
      "        children: {trade: {limits: [5, 10, 15]}}\n";
  for (int i = 0; i < 100'000; ++i) {
    yaml += "      u" + std::to_string(i) + ": {limits: [" + std::to_string(i) +
            ", 1, 1]}\n";
  }
  const Tree tree = loaded(yaml);
  EXPECT_EQ(tree.limit_count(), 100'002U);
  for (int i = 0; i < 100'000; i += 997) {
    const std::string name = "u" + std::to_string(i);
    EXPECT_EQ(
        levels(tree, {"user", name, "trade"}),
        (Strings{"user:" + name + " user:" + name + " " + std::to_string(i + 1),
                 "user:*/trade user:" + name + ":trade 6"}));
  }
  EXPECT_EQ(levels(tree, {"user", "u100000"}),
            Strings{"user:* user:u100000 16"});
}

TEST(LoadTree, LongNameIsAName) {
  const std::string name(20 << 20, 'x');
  // YAML wants keys of more than 1024 characters to be marked.
  const Tree tree =
      loaded("schema: {user: {children: {? " + name + " : {limits: 1/s}}}}");
  const Strings found = levels(tree, {"user", name});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_LT(found[0].size(), 200U);
  EXPECT_TRUE(levels(tree, {"user", "x"}).empty());
}

TEST(LoadTree, TakesTopLevelNamesOfSeveralTexts) {
  constexpr std::array<LimitsText, 2> kTexts = {
      LimitsText{"schema: {user: {children: {'*': {limits: 9/s}}}}", "a.yaml"},
      LimitsText{"schema: {ip: {key: ip, children: {'*': {limits: 7/s}}}}",
                 "b.yaml"}};
  Result<Tree> tree = load_tree(kTexts);
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ(levels(tree.value(), {"user", "x"}), Strings{"user:* user:x 9"});
  for (const char* text : {"::ffff:10.0.0.1", "64:ff9b::10.0.0.1"}) {
    EXPECT_EQ(levels(tree.value(), {"ip", text}),
              Strings{"ip:* ip:10.0.0.1 7"});
  }
}

TEST(LoadTree, SaysInWhichOfSeveralTextsAMistakeIs) {
  constexpr std::array<LimitsText, 4> kTexts = {
      LimitsText{"schema:\n  a: {limits: 0/s}\n", "a.yaml"},
      LimitsText{"schema: {b: {}, a: {}}", "b.yaml"},
      LimitsText{"schema: {c: {children: {10.0.0.0/8: {}}}}", "c.yaml"},
      LimitsText{"schema: {b: {}, c: {}, d: {ipv6_prefix: 64}}", "d.yaml"}};
  Result<Tree> tree = load_tree(kTexts);
  ASSERT_FALSE(tree.ok());
  EXPECT_EQ(
      tree.status().error().messages,
      (Strings{"a.yaml:2:15: count must be greater than 0, is 0, in \"0/s\"",
               "b.yaml:1:17: \"a\" is a top-level name of a.yaml already",
               "c.yaml:1:25: \"10.0.0.0/8\" is a network, which needs \"key: "
               "ip\" on the node above",
               "d.yaml:1:10: \"b\" is a top-level name of b.yaml already",
               "d.yaml:1:17: \"c\" is a top-level name of c.yaml already",
               "d.yaml:1:28: ipv6_prefix needs \"key: ip\""}));
}

TEST(LoadTree, SaysWhichOfSeveralTextsCannotBeRead) {
  constexpr std::array<LimitsText, 3> kTexts = {
      LimitsText{"schema: {a: {}}", "a.yaml"},
      LimitsText{"schema: [", "b.yaml"}, LimitsText{"schema: ]", "c.yaml"}};
  Result<Tree> tree = load_tree(kTexts);
  ASSERT_FALSE(tree.ok());
  const Strings& found = tree.status().error().messages;
  ASSERT_EQ(found.size(), 2U);
  EXPECT_TRUE(found[0].starts_with("b.yaml:")) << found[0];
  EXPECT_TRUE(found[1].starts_with("c.yaml:")) << found[1];
}

}  // namespace
}  // namespace limitree
