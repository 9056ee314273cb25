#include "tree/limit_text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace limitree {
namespace {

struct Case {
  std::string text;
  std::string count;
  std::string period;
  std::string burst_key;
  std::string burst;
};

TEST(SplitLimitText, TakesThePartsApart) {
  const std::vector<Case> cases = {
      {"30/minute", "30", "minute", "", ""},
      {"30 / minute", "30", "minute", "", ""},
      {"30 per 60s burst 16", "30", "60s", "burst", "16"},
      {"30/5 minutes  max_burst  15", "30", "5 minutes", "max_burst", "15"},
      {" 30/1m ", "30", "1m", "", ""},
      {"30/1m burst", "30", "1m burst", "", ""},
      {"30/burst 5", "30", "", "burst", "5"},
      {"/", "", "", "", ""},
      {"a/b/c", "a", "b/c", "", ""},
      {"30/1m burst 5 max_burst 4", "30", "1m burst 5", "max_burst", "4"},
  };
  for (const Case& one : cases) {
    Result<LimitText> parts = split_limit_text(one.text);
    ASSERT_TRUE(parts.ok()) << one.text;
    EXPECT_EQ(parts.value().count, one.count) << one.text;
    EXPECT_EQ(parts.value().period, one.period) << one.text;
    EXPECT_EQ(parts.value().burst_key, one.burst_key) << one.text;
    EXPECT_EQ(parts.value().burst, one.burst) << one.text;
  }
}

TEST(SplitLimitText, RefusesWhatHasNoPeriod) {
  for (const char* text : {"", "30", "30 a minute", "30per60s", "per 5s"}) {
    EXPECT_FALSE(split_limit_text(text).ok()) << text;
  }
}

}  // namespace
}  // namespace limitree
