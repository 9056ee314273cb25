// Aliases, merge keys and tags as yaml.v2 takes them, and what is too much.

#include "text/yaml_references.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "text/yaml.hpp"

namespace limitree {
namespace {

using Kind = YamlNode::Kind;

// A node as text: {a: [1, 'two']}, with quotes around what is no plain scalar.
std::string as_text(const YamlDocument& document, std::size_t index) {
  const YamlNode& node = document[index];
  if (node.kind == Kind::kRefused) return "refused";
  if (node.kind == Kind::kScalar) {
    const std::string text(document.text(node));
    return node.plain ? text : "'" + text + "'";
  }
  const bool mapping = node.kind == Kind::kMapping;
  std::string text = mapping ? "{" : "[";
  std::size_t count = 0;
  for (std::size_t i = index + 1; i < node.end; i = document[i].end, ++count) {
    const bool value = mapping && count % 2 == 1;
    if (count > 0) text += value ? ": " : ", ";
    text += as_text(document, i);
  }
  EXPECT_EQ(count, node.size);
  return text + (mapping ? "}" : "]");
}

std::string expanded(std::string_view yaml) {
  YamlDocument document;
  Problems problems;
  const bool whole =
      document.read(yaml, &problems, "nodes", YamlForm::kReferences);
  if (problems.empty()) return as_text(document, 0);
  EXPECT_TRUE(whole || problems.size() == 1);
  return problems.to_status("f").error().messages.front();
}

TEST(YamlReferences, AliasesAreCopies) {
  EXPECT_EQ(expanded("[&a x, *a, &b [1, 2], *b, &c {k: *b}, *c]"),
            "[x, x, [1, 2], [1, 2], {k: [1, 2]}, {k: [1, 2]}]");
  EXPECT_EQ(expanded("{&k a: 1, b: *k, c: {*k : 2}}"),
            "{a: 1, b: a, c: {a: 2}}");
  EXPECT_EQ(expanded("[&a 'x', *a, &a y, *a]"), "['x', 'x', y, y]");
  EXPECT_EQ(expanded("[&a , *a]"), "[, ]");
  EXPECT_EQ(expanded("[&a [&a x, *a, [&a [y]]], *a]"), "[[x, x, [[y]]], [y]]");
  EXPECT_EQ(expanded("[&a {k: &a x, m: {<<: {n: 1}}}, {<<: {k: *a}}]"),
            "[{k: x, m: {n: 1}}, {k: x}]");
}

TEST(YamlReferences, MergeKeys) {
  const std::string base = "{x: &x {a: 1, b: 2}, y: &y {b: 3, c: 4}, z: ";
  const std::pair<const char*, const char*> cases[] = {
      {"{<<: *x}", "{a: 1, b: 2}"},
      {"{<<: *x, b: 5}", "{a: 1, b: 5}"},
      {"{<<: *x, <<: *y}", "{a: 1, b: 3, c: 4}"},
      {"{<<: [*x, *y]}", "{b: 2, c: 4, a: 1}"},
      {"{<<: {d: 6}, e: 7}", "{d: 6, e: 7}"},
      {"{<<: []}", "{}"},
      // The last one counts, as in Go.
      {"{b: 5, <<: *x}", "{b: 2, a: 1}"},
      {"{'<<': 5}", "{'<<': 5}"},
      {"{in: {<<: *x}, <<: *y}", "{in: {a: 1, b: 2}, b: 3, c: 4}"},
  };
  for (const auto& [yaml, merged] : cases) {
    EXPECT_EQ(
        expanded(base + yaml + "}"),
        "{x: {a: 1, b: 2}, y: {b: 3, c: 4}, z: " + std::string(merged) + "}")
        << yaml;
  }
}

// Values that are mappings are joined, but not those inside them.
TEST(YamlReferences, MergeKeysJoinMappings) {
  const std::string base = "{x: &x {r: {u: 1, n: {p: 2}}}, z: {<<: *x, r: ";
  const std::string merged = "{x: {r: {u: 1, n: {p: 2}}}, z: {r: ";
  EXPECT_EQ(expanded(base + "{u: 3, v: 4}}}"),
            merged + "{u: 3, n: {p: 2}, v: 4}}}");
  EXPECT_EQ(expanded(base + "{n: {q: 5}}}}"), merged + "{u: 1, n: {q: 5}}}}");
  EXPECT_EQ(expanded(base + "6}}"), merged + "6}}");
}

// A merge inside what an anchor names, and an anchor inside a merge.
TEST(YamlReferences, MergeKeysAndAnchors) {
  EXPECT_EQ(expanded("[&a {k: &v [1]}, &b {<<: *a, n: &w 2}, *b, *v, *w]"),
            "[{k: [1]}, {k: [1], n: 2}, {k: [1], n: 2}, [1], 2]");
}

TEST(YamlReferences, Tags) {
  EXPECT_EQ(
      expanded("[!!str 5, !!int '5', !!bool \"no\", !!null '', !!float 1, "
               "!mine 7, ! 8, !!seq [1], !!map {a: 1}, !mine [2]]"),
      "['5', 5, no, , 1, '7', '8', [1], {a: 1}, [2]]");
  EXPECT_EQ(expanded("a: !!binary aGk="),
            "f:1:4: a value cannot have the tag \"!!binary\"");
  EXPECT_EQ(expanded("!!omap [a: 1]"),
            "f:1:1: a list or mapping cannot have the tag \"!!omap\"");
}

TEST(YamlReferences, Mistakes) {
  EXPECT_EQ(expanded("[*a]"),
            "f:1:2: unknown anchor 'a' referenced: a name with * must be "
            "quoted");
  EXPECT_EQ(expanded("&a [*a]"), "f:1:5: anchor 'a' value contains itself");
  EXPECT_EQ(expanded("[&a x, &a [*a]]"),
            "f:1:12: anchor 'a' value contains itself");
  EXPECT_EQ(expanded("{<<: 5}"),
            "f:1:6: map merge requires map or sequence of maps as the value");
  EXPECT_EQ(expanded("[&a 5, {<<: [*a]}]"),
            "f:1:13: map merge requires map or sequence of maps as the value");
  EXPECT_EQ(expanded("[&a [1], {*a : 2}]"),
            "f:1:2: a key must be a name, is a list or mapping");
  EXPECT_EQ(expanded("[&a {x: 1}, {<<: *a, y: 2, y: 3}]"),
            "f:1:28: duplicate key \"y\"");
}

// Each name stands for ten of the one before.
std::string alias_bomb(int levels) {
  std::string yaml = "x0: &x0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int i = 1; i <= levels; ++i) {
    const std::string before = "*x" + std::to_string(i - 1);
    const std::string name = "x" + std::to_string(i);
    yaml += name + ": &" + name + " [" + before;
    for (int k = 1; k < 10; ++k) yaml += ", " + before;
    yaml += "]\n";
  }
  return yaml;
}

TEST(YamlReferences, AreBounded) {
  EXPECT_EQ(expanded(alias_bomb(2)).substr(0, 5), "{x0: ");
  // 13 nodes for each line, and one for the mapping.
  const std::string message = expanded(alias_bomb(9));
  EXPECT_EQ(message.substr(0, 4), "f:5:") << message;
  EXPECT_NE(message.find("aliases stand for more than 10"), message.npos);
}

// Each alias may become a copy of the text: ten of a megabyte are too much.
TEST(YamlReferences, LongTextsAreBounded) {
  const std::string text = "[&a " + std::string(1 << 20, 'x');
  std::string yaml = text;
  for (int i = 0; i < 10; ++i) yaml += ", *a";
  const std::string message = expanded(yaml + "]");
  EXPECT_NE(message.find("aliases stand for more than 10"), message.npos)
      << message.substr(0, 100);
  EXPECT_EQ(expanded(text + ", *a]").substr(0, 3), "[xx");
}

TEST(YamlReferences, NestNoDeeperThanWhatIsWritten) {
  std::string yaml = "x0: &x0 [1]\n";
  for (std::size_t i = 1; i < kMaxYamlDepth + 1; ++i) {
    yaml += "x" + std::to_string(i) + ": &x" + std::to_string(i) + " [*x" +
            std::to_string(i - 1) + "]\n";
  }
  const std::string line = std::to_string(kMaxYamlDepth);
  EXPECT_EQ(expanded(yaml).substr(0, 5 + line.size()), "f:" + line + ":12");
  EXPECT_NE(expanded(yaml).find("nested deeper than 64"), std::string::npos);
}

}  // namespace
}  // namespace limitree
