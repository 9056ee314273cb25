// What is read and what stops the reader; each refusal's text is in
// tests/data/limits/.

#include "text/yaml.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace limitree {
namespace {

using Kind = YamlNode::Kind;

std::vector<std::string> problems_of(std::string_view yaml) {
  YamlDocument document;
  Problems problems;
  document.read(yaml, &problems);
  if (problems.empty()) return {};
  return problems.to_status("f").error().messages;
}

TEST(Yaml, NodesAreInTheOrderOfTheText) {
  YamlDocument document;
  Problems problems;
  ASSERT_TRUE(document.read("a: [1, 'two']\nb: {c: ~}\n", &problems));
  ASSERT_TRUE(problems.empty());

  EXPECT_EQ(document[0].kind, Kind::kMapping);
  EXPECT_EQ(document[0].size, 4U);
  EXPECT_EQ(document[0].end, 9U);
  EXPECT_EQ(document.text(document[1]), "a");
  EXPECT_EQ(document[2].kind, Kind::kSequence);
  EXPECT_EQ(document[2].size, 2U);
  EXPECT_EQ(document[2].end, 5U);
  EXPECT_EQ(document[2].mark, (Mark{1, 4}));
  EXPECT_TRUE(document[3].plain);
  EXPECT_FALSE(document[4].plain);
  EXPECT_EQ(document.text(document[4]), "two");
  EXPECT_EQ(document.text(document[5]), "b");
  EXPECT_EQ(document[5].mark, (Mark{2, 1}));
  EXPECT_EQ(document[6].kind, Kind::kMapping);
  EXPECT_EQ(document.text(document[7]), "c");
  EXPECT_TRUE(document.is_null(document[8]));
}

TEST(Yaml, ColumnsAreCharacters) {
  YamlDocument document;
  Problems problems;
  ASSERT_TRUE(document.read("\"\xc3\xa9\xe2\x82\xac\": x", &problems));
  EXPECT_EQ(document[2].mark, (Mark{1, 7}));
}

TEST(Yaml, ByteOrderMarkAndCarriageReturnsAreNoTrouble) {
  YamlDocument document;
  Problems problems;
  ASSERT_TRUE(document.read("\xef\xbb\xbfx: 1\r\ny: 2\r\n", &problems));
  EXPECT_EQ(document[0].size, 4U);
  EXPECT_EQ(document.text(document[1]), "x");
}

TEST(Yaml, DescribesNodes) {
  YamlDocument document;
  Problems problems;
  ASSERT_TRUE(document.read("[[], {}, ~, 'null', null, x]", &problems));
  const std::vector<std::string> expected = {
      "a list", "a list", "a mapping", "empty", "\"null\"", "empty", "\"x\""};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(document.describe(document[i]), expected[i]);
  }
}

TEST(Yaml, FindsTheLineOfInvalidBytes) {
  EXPECT_EQ(problems_of("a: 1\r\nb: \xc3\xa9\xff"),
            std::vector<std::string>{"f:2:5: invalid UTF-8: byte 0xFF"});
  EXPECT_EQ(problems_of(std::string_view("a: 1\nb\0", 7)),
            std::vector<std::string>{
                "f:2:2: control characters are not allowed: 0x00"});
}

TEST(Yaml, GoesOnAfterWhatItRefuses) {
  EXPECT_EQ(problems_of("a: &x !!str 1\nb: *x\na: 3\n<<: {}\n[y]: 4\n").size(),
            6U);
}

TEST(Yaml, DeepNesting) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(problems_of(nested(kMaxYamlDepth)).empty());
  EXPECT_EQ(problems_of(nested(kMaxYamlDepth + 1)),
            std::vector<std::string>{"f:1:65: nested deeper than 64"});
  EXPECT_EQ(problems_of(nested(10'000)),
            std::vector<std::string>{"f:1:65: nested deeper than 64"});
  EXPECT_EQ(problems_of(std::string(1 << 20, '{')).back(),
            "f:1:65: nested deeper than 64");
  std::string block;
  for (std::size_t i = 0; i < 200; ++i) block += std::string(i, ' ') + "a:\n";
  EXPECT_EQ(problems_of(block),
            std::vector<std::string>{"f:65:65: nested deeper than 64"});
}

TEST(Yaml, LargestFile) {
  std::string text = "a: 1\n#";
  text.resize(kMaxYamlSize, 'x');
  EXPECT_TRUE(problems_of(text).empty());
  text += 'x';
  EXPECT_EQ(problems_of(text),
            std::vector<std::string>{
                "f:1:1: the file has 67108865 bytes, more than 67108864"});
}

TEST(Yaml, LongScalar) {
  const std::string text = "a: " + std::string(20 << 20, 'x');
  YamlDocument document;
  Problems problems;
  ASSERT_TRUE(document.read(text, &problems));
  EXPECT_EQ(document[2].size, std::size_t{20} << 20);
  EXPECT_LT(document.describe(document[2]).size(), 100U);
}

// Apart, for a sanitizer takes a minute.
TEST(YamlBounds, TooManyNodes) {
  std::string text = "[";
  while (text.size() < 2 * kMaxYamlNodes) text += "1,";
  text += "1]";
  const std::vector<std::string> problems = problems_of(text);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_NE(problems[0].find("more than 8000000 values"), std::string::npos);
}

}  // namespace
}  // namespace limitree
