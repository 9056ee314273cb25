#include "tree/number.hpp"

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

TEST(ParseDuration, UnitsWordsAndSeconds) {
  const std::vector<std::pair<std::string, Duration>> cases = {
      {"1ns", 1ns},
      {"5us", 5us},
      {"500ms", 500ms},
      {"15s", 15s},
      {"3m", 3min},
      {"180m", 180min},
      {"2h", 2h},
      {"1d", 24h},
      {"1w", 7 * 24h},
      {"second", 1s},
      {"minute", 1min},
      {"hour", 1h},
      {"day", 24h},
      {"week", 7 * 24h},
      {"minutes", 1min},
      {"5 minutes", 5min},
      {"1 day", 24h},
      {"s", 1s},
      {"m", 1min},
      {"15", 15s},
      {"0", 0s},
      {"-5s", -5s},
      {"0.5", 500ms},
      {"1.25", 1250ms},
      {"0.000000001", 1ns},
      {"60.0", 60s},
      {"9223372036.854775807", Duration::max()},
  };
  for (const auto& [text, expected] : cases) {
    Result<Duration> time = parse_duration(text);
    ASSERT_TRUE(time.ok()) << text;
    EXPECT_EQ(time.value(), expected) << text;
  }
}

TEST(ParseDuration, RefusesTheRest) {
  for (const char* text : {"",
                           " ",
                           "-",
                           "5y",
                           "5M",
                           "1.5h",
                           "0.1234567891",
                           "1.",
                           ".5",
                           "-0.5",
                           "5 m",
                           "5minutes",
                           "1h30m",
                           "010",
                           "010s",
                           "1e3",
                           "1_0s",
                           "+5s",
                           "5 minutess",
                           "ms5",
                           "5  ",
                           "0x5s",
                           "seconds per day",
                           "1.5.5"}) {
    EXPECT_EQ(
        refusal(parse_duration(text))
            .find("must be a duration such as 500ms, 15s, 3m, 2h, 1d, is "),
        0U)
        << text;
  }
  for (const char* text :
       {"9223372036854775808ns", "99999999999w", "9223372037",
        "9223372036.854775808", "99999999999999999999.5"}) {
    EXPECT_EQ(refusal(parse_duration(text)),
              std::string("is too long: \"") + text + '"');
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
  EXPECT_EQ(trim(" \t a b \t"), "a b");
  EXPECT_EQ(trim("a"), "a");
  EXPECT_EQ(trim("  "), "");
  EXPECT_EQ(trim(""), "");
}

}  // namespace
}  // namespace limitree
