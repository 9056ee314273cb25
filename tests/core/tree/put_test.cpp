// One top-level name at a time: load_root() and Tree::with().

#include <gtest/gtest.h>

#include <ctime>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "core/tree/loaded.hpp"
#include "tree/tree.hpp"

namespace limitree {
namespace {

constexpr std::string_view kLimits =
    "schema:\n"
    "  user: {limits: 9/s, children: {'*': {limits: [3/s, 30/m]}}}\n"
    "  ip: {key: ip, children: {'*': {limits: 7/s}}}\n";

std::shared_ptr<Nodes> root_of(std::string_view name, std::string_view yaml,
                               const Files& files = {}) {
  Result<std::shared_ptr<Nodes>> root =
      load_root(name, {yaml, "put"}, reading(files));
  if (root.ok()) return std::move(root.value());
  ADD_FAILURE() << root.status().error().messages.front();
  return nullptr;
}

Strings mistakes_of(std::string_view name, std::string_view yaml,
                    TextBounds bounds = {}) {
  Result<std::shared_ptr<Nodes>> root =
      load_root(name, {yaml, "put"}, reading({}), bounds);
  if (root.ok()) return {};
  EXPECT_EQ(root.status().code(), Code::kInvalidConfig);
  return root.status().error().messages;
}

// Every limit has an index of its own.
void expect_indices(const Tree& tree) {
  std::set<std::uint32_t> indices;
  for (const std::span<const Limit> limits : tree.limits()) {
    for (const Limit& limit : limits) {
      EXPECT_TRUE(indices.insert(limit.index).second) << limit.index;
      EXPECT_LT(limit.index, tree.index_end());
    }
  }
  EXPECT_EQ(indices.size(), tree.limit_count());
}

TEST(Put, AddsANameAndSharesTheOthers) {
  const Tree tree = loaded(kLimits);
  const Tree more =
      tree.with(root_of("view", "children: {'*': {limits: 5/s}}"));
  EXPECT_TRUE(more.has("view"));
  EXPECT_FALSE(tree.has("view"));
  EXPECT_EQ(levels(more, {"view", "x"}), Strings{"view:* view:x 5"});
  EXPECT_EQ(levels(more, {"ip", "10.0.0.1"}), levels(tree, {"ip", "10.0.0.1"}));
  EXPECT_EQ(more.limits_of("user").data(), tree.limits_of("user").data());
  EXPECT_EQ(more.limit_count(), 5U);
  expect_indices(more);
  EXPECT_EQ(levels(tree, {"view", "x"}),
            Strings{"unknown root \"view\", the tree has: user, ip"});
}

TEST(Put, TakesThePlaceOfTheNameThatIsThere) {
  const Tree tree = loaded(kLimits);
  const Tree other = tree.with(root_of("user", "limits: 1/s"));
  EXPECT_EQ(levels(other, {"user", "x"}), Strings{"user user 1"});
  EXPECT_EQ(levels(tree, {"user", "x"}).size(), 3U);
  EXPECT_EQ(other.describe().find("user"), 0U);  // still the first
  expect_indices(other);
}

// A name that grows with every put takes no more indices than it has limits,
// but for the room that the ones before it have left.
TEST(Put, IndicesOfReplacedNamesAreUsedAgain) {
  Tree tree = loaded(kLimits);
  std::string limits;
  for (int i = 0; i < 100; ++i) {
    limits += "n" + std::to_string(i) + ": {limits: 1/s}, ";
    tree = tree.with(root_of("view", "children: {" + limits + "}"));
    expect_indices(tree);
  }
  EXPECT_EQ(tree.limit_count(), 104U);
  EXPECT_EQ(tree.index_end(), 104U);
}

TEST(Put, ManyNamesAreFound) {
  Tree tree;
  for (int i = 0; i < 50; ++i) {
    tree = tree.with(root_of("n" + std::to_string(i),
                             "limits: " + std::to_string(i + 1) + "/s"));
  }
  for (int i = 0; i < 50; ++i) {
    const std::string name = "n" + std::to_string(i);
    EXPECT_EQ(levels(tree, {name}),
              Strings{name + " " + name + " " + std::to_string(i + 1)});
  }
  expect_indices(tree);
}

TEST(Put, LoadedAgainKeepsWhatWasAdded) {
  const Tree old = loaded(kLimits)
                       .with(root_of("view", "limits: 5/s"))
                       .with(root_of("view", "limits: 6/s"))
                       .with(root_of("user", "limits: 1/s"));
  Result<Tree> next = loaded(kLimits).with_added_of(old);
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(levels(next.value(), {"view"}), Strings{"view view 6"});
  // This one was not added: it had taken the place of a loaded one.
  EXPECT_EQ(levels(next.value(), {"user"}), Strings{"user user 9"});
  expect_indices(next.value());
  expect_indices(old);

  Result<Tree> again = loaded("schema: {a: {}}").with_added_of(next.value());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(levels(again.value(), {"view"}), Strings{"view view 6"});

  Result<Tree> both = loaded("schema: {view: {}}").with_added_of(old);
  ASSERT_FALSE(both.ok());
  EXPECT_EQ(both.status().code(), Code::kInvalidConfig);
  EXPECT_EQ(both.status().error().messages,
            Strings{"\"view\" is a top-level name of these limits, and was put "
                    "beside the old ones"});
}

TEST(Put, ReadsFilesOfOverrides) {
  const Tree tree = Tree().with(
      root_of("user", "{overrides: f.csv, children: {'*': {limits: 1/s}}}",
              {{"f.csv", "id,limits\nalex,5/s\n"}}));
  EXPECT_EQ(levels(tree, {"user", "alex"}), Strings{"user:* user:alex 5"});
  EXPECT_EQ(levels(tree, {"user", "kate"}), Strings{"user:* user:kate 1"});
}

TEST(Put, SaysWhereEachMistakeIs) {
  EXPECT_EQ(mistakes_of("view", "limits: 0/s\nchilderen: {}\n"),
            (Strings{"put:1:9: count must be greater than 0, is 0, in \"0/s\"",
                     "put:2:1: unknown key of a node \"childeren\", did you "
                     "mean \"children\"?"}));
  EXPECT_EQ(mistakes_of("view", ""),
            Strings{"put:1:1: nothing here: expected limits or children"});
  EXPECT_EQ(mistakes_of("view", "5/s"),
            Strings{"put:1:1: a node must be a mapping with limits or "
                    "children, is \"5/s\""});
  EXPECT_EQ(mistakes_of("view", "children: {10.0.0.0/8: {}}"),
            Strings{"put:1:12: \"10.0.0.0/8\" is a network, which needs \"key: "
                    "ip\" on the node above"});
  EXPECT_EQ(mistakes_of("view", "{overrides: f.csv, children: {'*': {}}}"),
            Strings{"put:1:13: f.csv: no such file"});
}

// Each of 280 names inherits 5,000 others: 47 KB for 1.4 million nodes.
TEST(Put, ATextOfOthersStandsForFewNodes) {
  std::string below = "{";
  for (int i = 0; i < 5000; ++i) below += "n" + std::to_string(i) + ": {}, ";
  std::string yaml = "children: {'*': {children: " + below + "}}";
  EXPECT_EQ(mistakes_of("view", yaml + "}", kForeignText), Strings{});
  for (int i = 0; i < 280; ++i) {
    yaml += ", m" + std::to_string(i) + ": {children: {z: {}}}";
  }
  EXPECT_EQ(mistakes_of("view", yaml + "}", kForeignText),
            Strings{"put:1:53989: overrides and \"*\" multiply to more than "
                    "20000 nodes"});
}

// Each limit has all names above it, and "%" is three bytes there.
TEST(Put, ATextOfOthersHasShortNames) {
  const auto yaml = [](int depth) {
    std::string text;
    std::string end = "}";
    for (int i = 0; i < depth; ++i) {
      text += "children: {'" + std::string(100, '%') + "': {\n";
      end += "}}";
    }
    text += "children: {\n";
    for (int i = 0; i < 1000; ++i) {
      text += "n" + std::to_string(i) + ": {limits: 1/s},\n";
    }
    return text + end;
  };
  EXPECT_EQ(mistakes_of("view", yaml(2), kForeignText), Strings{});
  EXPECT_EQ(mistakes_of("view", yaml(10)), Strings{});
  EXPECT_EQ(mistakes_of("view", yaml(10), kForeignText),
            Strings{"put:359:1: the names of all limits up to here, each with "
                    "the names above it, have more than 1048576 bytes"});
}

// To keep names over a reload takes much less than to put them.
TEST(Put, ManyNamesStayAtOnce) {
  Tree tree = loaded(kLimits);
  const auto seconds = [] {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  };
  const double begin = seconds();
  for (int i = 0; i < 3000; ++i) {
    tree = tree.with(root_of("n" + std::to_string(i), "limits: 1/s"));
  }
  const double put = seconds();
  const Tree more = std::move(loaded(kLimits).with_added_of(tree).value());
  const double kept = seconds();
  expect_indices(more);
  EXPECT_EQ(more.limit_count(), 3004U);
  EXPECT_LT(kept - put, (put - begin) / 20);
}

TEST(Put, SaysWhatIsWrongWithTheName) {
  EXPECT_EQ(mistakes_of("", "limits: 1/s"),
            Strings{"put:1:1: a top-level name must not be empty"});
  EXPECT_EQ(mistakes_of("a*", "limits: 1/s"),
            Strings{"put:1:1: a top-level name must be literal, is \"a*\""});
  EXPECT_EQ(mistakes_of("\xff", "limits: 1/s"),
            Strings{"a top-level name must be UTF-8 without control "
                    "characters, is \"\\xFF\""});
}

}  // namespace
}  // namespace limitree
