#include <gtest/gtest.h>

#include <map>

#include "config/environment.hpp"

namespace limitree::server {
namespace {

// A reader of these variables, which must outlive it.
EnvironmentReader reader_of(const std::map<std::string, std::string>& all) {
  return EnvironmentReader([&all](const char* name) -> const char* {
    const auto found = all.find(name);
    return found == all.end() ? nullptr : found->second.c_str();
  });
}

// The value of a variable, if it is valid.
template <typename Value>
std::optional<Value> value(EnvironmentReader* reader, const char* name,
                           const ValueKind& kind = {}) {
  Value read{};
  return reader->set(name, &read, kind) ? std::optional(read) : std::nullopt;
}

std::optional<Duration> parse_go_duration(const std::string& text) {
  const std::map<std::string, std::string> all = {{"A", text}};
  EnvironmentReader reader = reader_of(all);
  return value<Duration>(&reader, "A");
}

TEST(GoDuration, IsASumOfNumbersWithUnits) {
  EXPECT_EQ(parse_go_duration("0"), Duration::zero());
  EXPECT_EQ(parse_go_duration("24h"), 24 * 3600 * kOneSecond);
  EXPECT_EQ(parse_go_duration("1h30m"), 5400 * kOneSecond);
  EXPECT_EQ(parse_go_duration("1.5s"), 1500 * kMillisecond);
  EXPECT_EQ(parse_go_duration("150us"), 150 * kMicrosecond);
  EXPECT_EQ(parse_go_duration("3m2ms1ns"),
            180 * kOneSecond + Duration(2'000'001));
  EXPECT_EQ(parse_go_duration("\xc2\xb5s"), std::nullopt);
  EXPECT_EQ(parse_go_duration("7\xc2\xb5s"), 7 * kMicrosecond);
}

TEST(GoDuration, IsNothingElse) {
  for (const char* text : {"", "5", "s", "-1s", "1d", "1s ", " 1s", "1h-1m",
                           "nan", "infs", "1e3s", "999999999999h", "0x1s"}) {
    EXPECT_EQ(parse_go_duration(text), std::nullopt) << text;
  }
}

TEST(EnvironmentReader, TakesWhatGoTakesForTrueAndFalse) {
  const std::map<std::string, std::string> all = {
      {"A", "T"}, {"B", "1"}, {"C", "False"}, {"D", "yes"}, {"E", ""}};
  EnvironmentReader reader = reader_of(all);
  EXPECT_EQ(value<bool>(&reader, "A"), true);
  EXPECT_EQ(value<bool>(&reader, "B"), true);
  EXPECT_EQ(value<bool>(&reader, "C"), false);
  EXPECT_EQ(value<bool>(&reader, "D"), std::nullopt);
  EXPECT_EQ(value<bool>(&reader, "E"), std::nullopt);
  EXPECT_EQ(value<bool>(&reader, "F"), std::nullopt);
  EXPECT_EQ(reader.report().errors,
            std::vector<std::string>{"D: must be true or false, is 'yes'"});
}

TEST(EnvironmentReader, KeepsNumbersInTheirRange) {
  const std::map<std::string, std::string> all = {
      {"A", "7"}, {"B", "8"}, {"C", "7x"}, {"D", "0.25"}, {"E", "1.1"}};
  constexpr ValueKind kToSeven{.least = 0, .most = 7};
  EnvironmentReader reader = reader_of(all);
  EXPECT_EQ(value<std::size_t>(&reader, "A", kToSeven), 7u);
  EXPECT_EQ(value<std::size_t>(&reader, "B", kToSeven), std::nullopt);
  EXPECT_EQ(value<std::size_t>(&reader, "C", kToSeven), std::nullopt);
  EXPECT_EQ(value<double>(&reader, "D"), 0.25);
  EXPECT_EQ(value<double>(&reader, "E"), std::nullopt);
  EXPECT_EQ(
      reader.report().errors,
      (std::vector<std::string>{"B: must be a number from 0 to 7, is '8'",
                                "C: must be a number from 0 to 7, is '7x'",
                                "E: must be a number from 0 to 1, is '1.1'"}));
}

TEST(EnvironmentReader, SplitsPairs) {
  const std::map<std::string, std::string> all = {
      {"A", "a:1, b:x:y,c:"}, {"B", "a"}, {"C", "a:1,:2"}, {"D", "a=1,b:2"}};
  EnvironmentReader reader = reader_of(all);
  EXPECT_EQ(value<Pairs>(&reader, "A"),
            (Pairs{{"a", "1"}, {"b", "x:y"}, {"c", ""}}));
  EXPECT_EQ(value<Pairs>(&reader, "B"), std::nullopt);
  EXPECT_EQ(value<Pairs>(&reader, "C"), std::nullopt);
  EXPECT_EQ(value<Pairs>(&reader, "D", {"NAME=VALUE"}),
            (Pairs{{"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(reader.report().errors,
            (std::vector<std::string>{
                "B: must be name:value,name:value, is 'a'",
                "C: must be name:value,name:value, is 'a:1,:2'"}));
}

TEST(EnvironmentReader, FindsWordsInAnyCase) {
  const std::map<std::string, std::string> all = {{"A", "Cluster"},
                                                  {"B", "ring"}};
  EnvironmentReader reader = reader_of(all);
  EXPECT_EQ(reader.word("A", "SINGLE CLUSTER"), 1u);
  EXPECT_EQ(reader.word("B", "a b c"), std::nullopt);
  EXPECT_EQ(reader.report().errors,
            std::vector<std::string>{"B: must be a, b or c, is 'ring'"});
}

}  // namespace
}  // namespace limitree::server
