#include "text/glob.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace limitree {
namespace {

TEST(GlobMatches, AnyBytesOrNone) {
  const std::vector<std::pair<std::string, std::string>> matching = {
      {"*", ""},          {"a*", "a"},        {"a*", "ab"},    {"*a", "bca"},
      {"a*b", "ab"},      {"a*b", "axxb"},    {"a*b", "abab"}, {"**", "x"},
      {"a*b*c", "abc"},   {"a*b*c", "abbcc"}, {"a**c", "abc"}, {"*a*", "bab"},
      {"*ab*ab", "abab"},
  };
  for (const auto& [glob, text] : matching) {
    EXPECT_TRUE(glob_matches(glob, text)) << glob << " " << text;
  }
  const std::vector<std::pair<std::string, std::string>> others = {
      {"a*", ""},       {"a*", "ba"},     {"*a", "ab"},
      {"a*b", "a"},     {"a*b", "b"},     {"a*a", "a"},
      {"a*b*c", "acb"}, {"*ab*ab", "ab"}, {"a*", "A"},
  };
  for (const auto& [glob, text] : others) {
    EXPECT_FALSE(glob_matches(glob, text)) << glob << " " << text;
  }
}

// The definition in its shortest form.
bool matches(std::string_view glob, std::string_view text) {
  if (glob.empty()) return text.empty();
  if (glob[0] != '*') {
    return !text.empty() && text[0] == glob[0] &&
           matches(glob.substr(1), text.substr(1));
  }
  return matches(glob.substr(1), text) ||
         (!text.empty() && matches(glob, text.substr(1)));
}

TEST(GlobMatches, AsDefined) {
  std::mt19937 random(1);
  int found = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string glob;
    std::string text;
    for (std::size_t n = random() % 7; n > 0; --n) glob += "ab*"[random() % 3];
    for (std::size_t n = random() % 9; n > 0; --n) text += "ab*"[random() % 3];
    const bool expected = matches(glob, text);
    found += expected ? 1 : 0;
    ASSERT_EQ(glob_matches(glob, text), expected) << glob << " " << text;
  }
  EXPECT_GT(found, 1000);
}

TEST(GlobMatches, LongTextIsNoTrouble) {
  const std::string text(1 << 20, 'a');
  EXPECT_FALSE(glob_matches("a*a*a*a*a*b", text));
  EXPECT_TRUE(glob_matches("a*a*a*a*a*a", text));
}

// All texts of at most `size` of the bytes a, b and c.
std::vector<std::string> texts(std::size_t size) {
  std::vector<std::string> all = {""};
  for (std::size_t i = 0; i < all.size() && all[i].size() < size; ++i) {
    for (const char c : {'a', 'b', 'c'}) all.push_back(all[i] + c);
  }
  return all;
}

TEST(GlobsOverlap, IfATextMatchesBoth) {
  const std::vector<std::string> short_texts = texts(4);
  std::mt19937 random(2);
  int found = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string globs[2];
    for (std::string& glob : globs) {
      for (std::size_t n = random() % 4; n > 0; --n)
        glob += "abc*"[random() % 4];
    }
    const bool expected = std::any_of(
        short_texts.begin(), short_texts.end(), [&](const std::string& text) {
          return matches(globs[0], text) && matches(globs[1], text);
        });
    found += expected ? 1 : 0;
    ASSERT_EQ(globs_overlap(globs[0], globs[1]), expected)
        << globs[0] << " " << globs[1];
  }
  EXPECT_GT(found, 200);
  EXPECT_LT(found, 1800);
}

TEST(LiteralSize, CountsAllButStars) {
  EXPECT_EQ(literal_size("a*b*c"), 3U);
  EXPECT_EQ(literal_size("**"), 0U);
  EXPECT_EQ(literal_size(""), 0U);
}

}  // namespace
}  // namespace limitree
