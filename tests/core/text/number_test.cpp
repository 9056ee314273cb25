#include "text/number.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace limitree {
namespace {

using namespace std::chrono_literals;

std::string refusal(Result<std::int64_t> result) {
  return result.ok() ? "accepted" : result.status().error().messages.front();
}
std::string refusal(Result<Duration> result) {
  return result.ok() ? "accepted" : result.status().error().messages.front();
}

TEST(ParseInteger, PlainDigits) {
  const std::vector<std::pair<std::string, std::int64_t>> cases = {
      {"0", 0},
      {"7", 7},
      {"-3", -3},
      {"1000", 1000},
      {"9223372036854775807", INT64_MAX},
      {"-9223372036854775808", INT64_MIN},
  };
  for (const auto& [text, expected] : cases) {
    Result<std::int64_t> number = parse_integer(text);
    ASSERT_TRUE(number.ok()) << text;
    EXPECT_EQ(number.value(), expected);
  }
}

TEST(ParseInteger, NamesTheFormItRefuses) {
  const std::string must = "must be a whole number in plain digits, is ";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"010", " (leading zero)"},
      {"00", " (leading zero)"},
      {"-0", " (negative zero)"},
      {"-01", " (leading zero)"},
      {"0x10", " (hexadecimal)"},
      {"0X1F", " (hexadecimal)"},
      {"0o17", " (octal)"},
      {"0b11", " (binary)"},
      {"1_000", " (underscore)"},
      {"1,000", " (comma)"},
      {"1e3", " (exponent)"},
      {"1.5E3", " (exponent)"},
      {"+5", " (plus sign)"},
      {"1.5", " (decimals)"},
      {"", ""},
      {"-", ""},
      {"--1", ""},
      {" 1", ""},
      {"1 ", ""},
      {"many", ""},
      {"e", ""},
      {"12a", ""},
      {".5", ""},
  };
  for (const auto& [text, form] : cases) {
    EXPECT_EQ(refusal(parse_integer(text)), must + '"' + text + '"' + form);
  }
  EXPECT_EQ(refusal(parse_integer("9223372036854775808")),
            "is too large: \"9223372036854775808\"");
  EXPECT_EQ(refusal(parse_integer("-9223372036854775809")),
            "is too small: \"-9223372036854775809\"");
}

TEST(ParseInteger, OfAtLeastSoMany) {
  EXPECT_EQ(parse_integer("0", 0).value(), 0);
  EXPECT_EQ(parse_integer("1", 1).value(), 1);
  EXPECT_EQ(refusal(parse_integer("-1", 0)), "must not be negative, is -1");
  EXPECT_EQ(refusal(parse_integer("0", 1)), "must be greater than 0, is 0");
  EXPECT_EQ(refusal(parse_integer("x", 1)),
            "must be a whole number in plain digits, is \"x\"");
}

// conformance/rates.json has the texts that every language reads; these do not
// leave the core.
TEST(ParseDuration, MayBeNegative) {
  const std::vector<std::pair<std::string, Duration>> cases = {
      {"-5s", -5s},
      {"-0.5", -500ms},
      {"-1h30m", -90min},
      {"9223372036.854775807", Duration::max()},
      {"-9223372036.854775807", -Duration::max()},
  };
  for (const auto& [text, expected] : cases) {
    Result<Duration> time = parse_duration(text);
    ASSERT_TRUE(time.ok()) << text;
    EXPECT_EQ(time.value(), expected) << text;
  }
  for (const char* text : {"--5s", "-", "-s", "- 5s", "5-s"}) {
    EXPECT_FALSE(parse_duration(text).ok()) << text;
  }
}

TEST(ParseDuration, IsTooLongBeyond292Years) {
  for (const char* text :
       {"9223372036854775808ns", "99999999999w", "9223372037",
        "9223372036.854775808", "99999999999999999999.5", "15250w2d"}) {
    EXPECT_EQ(refusal(parse_duration(text)),
              std::string("is too long: \"") + text + '"');
  }
}

TEST(ParseDuration, IsInWholeNanoseconds) {
  EXPECT_EQ(parse_duration("0.000000001").value(), 1ns);
  for (const char* text : {"1.5ns", "0.0001us"}) {
    EXPECT_EQ(refusal(parse_duration(text)),
              std::string("must be in whole nanoseconds, is \"") + text + '"');
  }
}

TEST(ParseDuration, ReadsAgainWhatIsWritten) {
  for (const Duration time :
       {1ns, 999ns, 1500us + 0ns, 201600ms + 0ns, 76h + 0ns, 24h + 1ns,
        8571428571ns, 123456789123456789ns, Duration::max()}) {
    EXPECT_EQ(parse_duration(format_duration(time)).value(), time);
    EXPECT_EQ(parse_duration(spoken_duration(time)).value(), time);
    EXPECT_EQ(parse_duration(format_duration(-time)).value(), -time);
  }
}

TEST(ParsePeriod, IsGreaterThanZero) {
  EXPECT_EQ(parse_period("1ns").value(), 1ns);
  EXPECT_EQ(refusal(parse_period("0")), "must be greater than 0, is 0s");
  EXPECT_EQ(refusal(parse_period("-0.5")), "must be greater than 0, is -500ms");
}

TEST(IsOneMonth, InWordsOnly) {
  for (const char* text : {"month", "1 month", "1month", "MONTHS"}) {
    EXPECT_TRUE(is_one_month(text)) << text;
  }
  for (const char* text : {"30d", "2 months", "11 month", "", "1", "1 m"}) {
    EXPECT_FALSE(is_one_month(text)) << text;
  }
}

TEST(FormatDuration, IsExactAndShort) {
  const std::vector<std::pair<Duration, std::string>> cases = {
      {0ns, "0s"},
      {1ns, "1ns"},
      {1500ms, "1500ms"},
      {90s, "90s"},
      {60s, "1m"},
      {24h, "1d"},
      {14 * 24h, "2w"},
      {8571428571ns, "8.571428571s"},
      {66666667ns, "66.666667ms"},
      {12345ns, "12.345us"},
      {-5s, "-5s"},
      {-500ms, "-500ms"},
      {Duration::max(), "9223372036.854775807s"},
  };
  for (const auto& [time, expected] : cases) {
    EXPECT_EQ(format_duration(time), expected);
  }
}

TEST(SpokenDuration, IsThatOfTheCommandLineAndExact) {
  const std::vector<std::pair<Duration, std::string>> cases = {
      {1ns, "1ns"},          {12345ns, "12.345us"}, {1500us, "1.5ms"},
      {1500ms, "1.5s"},      {90s, "1m30s"},        {60s, "1m"},
      {201600ms, "3m21.6s"}, {76h, "3d4h"},         {14 * 24h, "14d"},
      {1h + 1s, "1h1s"},     {24h + 1ns, "1d1ns"},  {66666667ns, "66.666667ms"},
  };
  for (const auto& [time, expected] : cases) {
    EXPECT_EQ(spoken_duration(time), expected);
  }
}

TEST(Trim, TakesBlanksOffBothEnds) {
  EXPECT_EQ(trim(" \t a b \r\n"), "a b");
  EXPECT_EQ(trim("a"), "a");
  EXPECT_EQ(trim("  "), "");
  EXPECT_EQ(trim(""), "");
}

TEST(GoDuration, ReadsWhatGoWrites) {
  const auto ns = [](std::string_view text) {
    const auto read = parse_go_duration(text);
    return read ? read->count() : -1;
  };
  EXPECT_EQ(ns("180m"), 10'800'000'000'000);
  EXPECT_EQ(ns("3h0m0s"), 10'800'000'000'000);
  EXPECT_EQ(ns("1h30m"), 5'400'000'000'000);
  EXPECT_EQ(ns("1.5h"), 5'400'000'000'000);
  EXPECT_EQ(ns(".5s"), 500'000'000);
  EXPECT_EQ(ns("1.s"), 1'000'000'000);
  EXPECT_EQ(ns("100ms"), 100'000'000);
  EXPECT_EQ(ns("7us"), 7'000);
  EXPECT_EQ(ns("7\xc2\xb5s"), 7'000);
  EXPECT_EQ(ns("1.9ns"), 1);
  EXPECT_EQ(ns("0"), 0);
  EXPECT_EQ(ns("2540400h"), 9'145'440'000'000'000'000);
  for (const char* text : {"", "1", "-1s", "1d", "s", ".s", "1..5s", "1s ",
                           "2562048h", "99999999999999999999s", "1.5.5s"}) {
    EXPECT_EQ(ns(text), -1) << text;
  }
}

}  // namespace
}  // namespace limitree
