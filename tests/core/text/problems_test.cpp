#include "text/problems.hpp"

#include <gtest/gtest.h>

#include <array>

namespace limitree {
namespace {

TEST(Problems, AreInTheOrderOfTheTextAndOnlyOnce) {
  Problems problems;
  EXPECT_TRUE(problems.empty());
  problems.add({10, 2}, "c");
  problems.add({9, 3}, "b");
  problems.add({9, 1}, "a");
  problems.add({9, 3}, "b");
  const Status status = problems.to_status("limits.yaml");
  EXPECT_EQ(status.code(), Code::kInvalidConfig);
  EXPECT_EQ(
      status.error().messages,
      (std::vector<std::string>{"limits.yaml:9:1: a", "limits.yaml:9:3: b",
                                "limits.yaml:10:2: c"}));
}

TEST(Problems, AreCountedBeyondTheFirstThousand) {
  Problems problems;
  for (std::uint32_t i = 1; i <= Problems::kMaxMessages + 7; ++i) {
    problems.add({i, 1}, "x");
  }
  const Status status = problems.to_status("f");
  ASSERT_EQ(status.error().messages.size(), Problems::kMaxMessages + 1);
  EXPECT_EQ(status.error().messages.back(), "f: and 7 more");
}

TEST(Problems, SayWhereInTheDataOfAProgramTheyAre) {
  constexpr std::string_view data =
      "{\"schema\": {\"a\\\"\u00e9\": {\"limits\": [5, 10, {\"x\": \"y\"}], "
      "\"b\":\"c\"}, \"d\": 1}}";
  Problems problems;
  problems.set_text(0, data);
  for (const std::uint32_t column : {1U, 22U, 36U, 46U, 57U, 68U}) {
    problems.add({1, column}, "bad");
  }
  problems.set_text(1, "schema: {a: b}");
  problems.add({1, 9}, "a file");
  const std::array<std::string_view, 2> origins = {"limits", "a.yaml"};
  const std::string key = "schema.a\\\\\\\"\u00e9";
  EXPECT_EQ(problems.to_status(origins).error().messages,
            (std::vector<std::string>{
                "limits:1:1: bad", "limits:1:22: " + key + ": bad",
                "limits:1:36: " + key + ".limits[1]: bad",
                "limits:1:46: " + key + ".limits[2].x: bad",
                "limits:1:57: " + key + ".b: bad", "limits:1:68: schema.d: bad",
                "a.yaml:1:9: a file"}));
}

TEST(Problems, SayNoPlaceAfterALineBreakOfYaml) {
  Problems problems;
  problems.set_text(0, "{\"a\": \"x\xe2\x80\xa8y\", \"b\": 1}");
  problems.add({2, 9}, "bad");
  EXPECT_EQ(problems.to_status("a").error().messages,
            std::vector<std::string>{"a:2:9: bad"});
}

TEST(Problems, SayPlacesOfBoundedLength) {
  std::string text = R"({"schema": )";
  for (int i = 0; i < 30; ++i) text += "{\"" + std::string(60, 'k') + "\": ";
  Problems problems;
  problems.set_text(0, text);
  problems.add({1, static_cast<std::uint32_t>(text.size())}, "bad");
  const std::string deep = std::string(1 << 20, '[');
  problems.set_text(1, deep);
  problems.add({1, 1 << 20}, "too deep");
  const std::array<std::string_view, 2> origins = {"a", "b"};
  const auto messages = problems.to_status(origins).error().messages;
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_LT(messages[0].size(), 400u);
  EXPECT_NE(messages[0].find("kk...: bad"), std::string::npos) << messages[0];
  EXPECT_EQ(messages[1], "b:1:1048576: too deep");
}

TEST(Problems, SurviveDataThatIsNotJson) {
  for (const std::string_view data :
       {R"({"a")", R"({"a)", R"({"a\)", R"({"}"b":]},"c":)"}) {
    Problems problems;
    problems.set_text(0, data);
    problems.add({1, 99}, "bad");
    EXPECT_EQ(problems.to_status("a").error().messages.size(), 1u);
  }
}

TEST(Quote, IsOneSafeLine) {
  EXPECT_EQ(quote("plain"), "\"plain\"");
  EXPECT_EQ(quote(""), "\"\"");
  EXPECT_EQ(quote("a\"b\\c"), "\"a\\\"b\\\\c\"");
  EXPECT_EQ(quote(std::string_view("\0\n\x1b\x7f", 4)),
            "\"\\x00\\x0A\\x1B\\x7F\"");
  EXPECT_EQ(quote("\xff\xc3"), "\"\\xFF\\xC3\"");
  EXPECT_EQ(quote("\xc3\xa9"), "\"\xc3\xa9\"");
  EXPECT_EQ(quote("\xc2\x9b"), "\"\\xC2\\x9B\"");           // CSI
  EXPECT_EQ(quote("\xe2\x80\xae"), "\"\\xE2\\x80\\xAE\"");  // right to left
  EXPECT_EQ(quote("\xe2\x81\xa9"), "\"\\xE2\\x81\\xA9\"");
  EXPECT_EQ(quote("\xe2\x82\xac"), "\"\xe2\x82\xac\"");  // the euro sign
}

TEST(Quote, IsCutAfter64Bytes) {
  EXPECT_EQ(quote(std::string(64, 'x')), '"' + std::string(64, 'x') + '"');
  EXPECT_EQ(quote(std::string(65, 'x')),
            std::string("\"").append(64, 'x').append("...\""));
  // Never inside a character.
  EXPECT_EQ(quote(std::string(63, 'x').append("\xc3\xa9")),
            std::string("\"").append(63, 'x').append("...\""));
  EXPECT_LT(quote(std::string(1 << 20, '\n')).size(), 300U);
}

TEST(Nearest, FindsWhatWasMeant) {
  constexpr std::array<std::string_view, 4> kKnown = {"limits", "children",
                                                      "key", "cost"};
  EXPECT_EQ(nearest("limts", kKnown), "limits");
  EXPECT_EQ(nearest("lmiits", kKnown), "limits");
  EXPECT_EQ(nearest("limitss", kKnown), "limits");
  EXPECT_EQ(nearest("childern", kKnown), "children");
  EXPECT_EQ(nearest("keys", kKnown), "key");
  EXPECT_EQ(nearest("trade", kKnown), "");
  EXPECT_EQ(nearest("", kKnown), "");
  EXPECT_EQ(nearest(std::string(1 << 20, 'x'), kKnown), "");
}

TEST(Legible, KeepsWhatIsSafeAndShort) {
  EXPECT_EQ(legible("a\"b\\c"), "a\"b\\c");
  EXPECT_EQ(legible(std::string(1000, 'x')), std::string(1000, 'x'));
  EXPECT_EQ(legible(std::string(1001, 'x')), std::string(64, 'x') + "...");
  EXPECT_EQ(legible("a\nb"), "a\\x0Ab");
  EXPECT_EQ(legible("a\xff"), "a\\xFF");
}

}  // namespace
}  // namespace limitree
