#include "base/utf8.hpp"

#include <gtest/gtest.h>

namespace limitree {
namespace {

TEST(Utf8, SizeOfTheFirstCharacter) {
  EXPECT_EQ(utf8_size("a"), 1U);
  EXPECT_EQ(utf8_size(std::string_view("\0", 1)), 1U);
  EXPECT_EQ(utf8_size("\x7f"), 1U);
  EXPECT_EQ(utf8_size("\xc2\x80"), 2U);
  EXPECT_EQ(utf8_size("\xdf\xbf!"), 2U);
  EXPECT_EQ(utf8_size("\xe0\xa0\x80"), 3U);
  EXPECT_EQ(utf8_size("\xed\x9f\xbf"), 3U);      // U+D7FF
  EXPECT_EQ(utf8_size("\xee\x80\x80"), 3U);      // U+E000
  EXPECT_EQ(utf8_size("\xf0\x90\x80\x80"), 4U);  // U+10000
  EXPECT_EQ(utf8_size("\xf4\x8f\xbf\xbf"), 4U);  // U+10FFFF
}

TEST(Utf8, RefusesWhatIsNone) {
  for (const char* text :
       {"", "\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2!",
        "\xe0\x9f\xbf", "\xe0\xa0", "\xe0\xa0!", "\xed\xa0\x80", "\xed\xbf\xbf",
        "\xf0\x8f\xbf\xbf", "\xf0\x90\x80", "\xf0\x90\x80!", "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80", "\xff"}) {
    EXPECT_EQ(utf8_size(text), 0U) << text;
  }
}

}  // namespace
}  // namespace limitree
