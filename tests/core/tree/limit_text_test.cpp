#include "tree/limit_text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace limitree {
namespace {

using namespace std::chrono_literals;

// conformance/rates.json has the texts that every language reads.

TEST(ParseRates, SaysWhatIsWrongWithEachOfThem) {
  Result<std::vector<TextRate>> rates = parse_rates("x/s; 3/m; 1/y burst 0");
  ASSERT_FALSE(rates.ok());
  EXPECT_EQ(rates.status().code(), Code::kInvalidConfig);
  EXPECT_EQ(
      rates.status().error().messages,
      std::vector<std::string>({
          "count must be a whole number in plain digits, is \"x\", in "
          "\"x/s\"",
          "period must be a duration such as 500ms, 15s, 3m, 2h, 1d, is \"y\""
          ", in \"1/y burst 0\"",
          "burst must be greater than 0, is 0, in \"1/y burst 0\"",
      }));
}

TEST(ParseRates, ReadsAgainWhatItIsCalled) {
  const std::vector<TextRate> rates = {
      {5, 1s, 5},       {1, 90s, 7},        {30, 500ms, 30},
      {2, 36h, 2},      {3, 12345ns, 3},    {7, 8571428571ns, 9},
      {1, 31 * 24h, 1}, {1000, 61001ms, 1},
  };
  for (const TextRate& rate : rates) {
    std::string text = name_of(rate);
    const std::size_t dash = text.find('-');
    if (dash != text.npos) text.replace(dash, 6, " burst ");
    Result<std::vector<TextRate>> again = parse_rates(text);
    ASSERT_TRUE(again.ok()) << text;
    EXPECT_EQ(again.value(), std::vector<TextRate>({rate})) << text;
  }
}

TEST(ParseCapacity, NamesItsKey) {
  EXPECT_EQ(parse_capacity("burst", "5").value(), 5);
  EXPECT_EQ(parse_capacity("max_burst", "5").value(), 6);
  EXPECT_EQ(parse_capacity("max_burst", "0").value(), 1);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"burst", "burst must be greater than 0, is 0"},
      {"max_burst", "max_burst must not be negative, is -1"},
  };
  for (const auto& [key, message] : cases) {
    Result<std::int64_t> capacity =
        parse_capacity(key, key == "burst" ? "0" : "-1");
    ASSERT_FALSE(capacity.ok());
    EXPECT_EQ(capacity.status().error().messages.front(), message);
  }
}

}  // namespace
}  // namespace limitree
