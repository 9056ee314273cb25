#include "json/writer.hpp"

#include <gtest/gtest.h>

namespace limitree::server {
namespace {

std::string text_of(std::string_view text) {
  std::string out;
  JsonWriter(&out).text(text);
  return out;
}

TEST(JsonWriter, PutsCommasBetweenValues) {
  std::string out = "before ";
  JsonWriter to(&out);
  to.begin_object();
  to.key("a");
  to.begin_list();
  to.number(-1);
  to.whole(UINT64_MAX);
  to.begin_list();
  to.end_list();
  to.text("x");
  to.end_list();
  to.key("b");
  to.flag(true);
  to.key("c");
  to.begin_object();
  to.end_object();
  to.key("d");
  to.null();
  to.end_object();
  EXPECT_EQ(out,
            "before {\"a\":[-1,18446744073709551615,[],\"x\"],\"b\":true,"
            "\"c\":{},\"d\":null}");
}

TEST(JsonWriter, EscapesWhatMustNotBeInAText) {
  EXPECT_EQ(text_of("a\"b\\c\nd\x01\x7F"),
            "\"a\\\"b\\\\c\\u000ad\\u0001\\u007f\"");
  EXPECT_EQ(text_of(std::string_view("\0", 1)), "\"\\u0000\"");
}

TEST(JsonWriter, KeepsUtf8) {
  for (const std::string_view text :
       {"\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
        "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(text_of(text), '"' + std::string(text) + '"');
  }
}

TEST(JsonWriter, ReplacesWhatIsNoUtf8) {
  const std::string mark = "\\ufffd";
  EXPECT_EQ(text_of("a\xFFz"), "\"a" + mark + "z\"");
  EXPECT_EQ(text_of("\xC1\x80"), '"' + mark + mark + '"');  // overlong
  EXPECT_EQ(text_of("\xE0\x9F\xBF"), '"' + mark + mark + mark + '"');
  EXPECT_EQ(text_of("\xED\xA0\x80"), '"' + mark + mark + mark + '"');
  EXPECT_EQ(text_of("\xF4\x90\x80\x80"), '"' + mark + mark + mark + mark + '"');
  EXPECT_EQ(text_of("\xE2\x82"), '"' + mark + mark + '"');  // cut off
  EXPECT_EQ(text_of("\xF5"), '"' + mark + '"');
}

}  // namespace
}  // namespace limitree::server
