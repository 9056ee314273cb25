#include "text/yaml_text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "text/yaml.hpp"

namespace limitree {
namespace {

TEST(YamlText, IsReadAsItWas) {
  std::vector<std::string> texts = {"",
                                    "a",
                                    "/search",
                                    "10",
                                    "true",
                                    "Null",
                                    "*",
                                    "a*",
                                    "~",
                                    "<<",
                                    "a: b",
                                    "# no",
                                    "a\nb",
                                    "\t",
                                    "say \"x\"",
                                    "a\\b",
                                    "\xc3\xa4",
                                    "\xc2\x85",
                                    "\xe2\x80\xa8",
                                    "\xef\xbb\xbf",
                                    "\x7f",
                                    "\xf0\x9f\x98\x80"};
  for (char c = 1; c < 0x7f; ++c) texts.push_back(std::string("x") + c);
  texts.emplace_back("\0", 1);
  for (const std::string& text : texts) {
    Problems problems;
    YamlDocument document;
    ASSERT_TRUE(document.read(yaml_scalar(text) + ": 1", &problems)) << text;
    EXPECT_EQ(document.text(document[1]), text);
    ASSERT_TRUE(document.read("[" + yaml_quoted(text) + "]", &problems));
    EXPECT_EQ(document.text(document[1]), text);
    EXPECT_TRUE(problems.empty()) << text;
  }
}

TEST(YamlText, HasQuotesWhereReadersDiffer) {
  EXPECT_EQ(yaml_scalar("/search"), "/search");
  EXPECT_EQ(yaml_scalar("bot-7.x_y"), "bot-7.x_y");
  for (const char* text : {"10", "1m", "no", "Off", "", "*", "-x", "a b"}) {
    EXPECT_EQ(yaml_scalar(text), '"' + std::string(text) + '"');
  }
  EXPECT_EQ(yaml_quoted("a\n\xc2\x80"), "\"a\\U0000000A\\U00000080\"");
}

}  // namespace
}  // namespace limitree
