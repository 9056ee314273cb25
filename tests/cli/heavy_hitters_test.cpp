#include "heavy_hitters.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

namespace limitree {
namespace {

TEST(HeavyHitters, CountsExactlyWhileCountersLast) {
  HeavyHitters callers(4);
  for (const char* const name : {"b", "a", "c", "a", "b", "a"}) {
    callers.add(name);
  }
  EXPECT_EQ(callers.total(), 6);
  EXPECT_EQ(callers.error_bound(), 0);
  const auto top = callers.top(2);
  ASSERT_EQ(top.size(), 2U);
  EXPECT_EQ(top[0].text, "a");
  EXPECT_EQ(top[0].count, 3);
  EXPECT_EQ(top[0].error, 0);
  EXPECT_EQ(top[1].text, "b");
  EXPECT_EQ(top[1].count, 2);
  EXPECT_EQ(callers.top(10).size(), 3U);
}

TEST(HeavyHitters, EqualCountsAreOrderedByText) {
  HeavyHitters callers(4);
  for (const char* const name : {"c", "a", "b"}) callers.add(name);
  const auto top = callers.top(3);
  EXPECT_EQ(top[0].text, "a");
  EXPECT_EQ(top[2].text, "c");
}

TEST(HeavyHitters, TakesTheSmallestCounterOver) {
  HeavyHitters callers(2);
  for (const char* const name : {"a", "a", "b", "c"}) callers.add(name);
  const auto top = callers.top(2);
  EXPECT_EQ(top[0].text, "a");
  EXPECT_EQ(top[1].text, "c");
  EXPECT_EQ(top[1].count, 2);
  EXPECT_EQ(top[1].error, 1);
}

TEST(HeavyHitters, EmptyHasNobody) {
  const HeavyHitters callers(3);
  EXPECT_TRUE(callers.top(3).empty());
  EXPECT_EQ(callers.error_bound(), 0);
}

TEST(HeavyHitters, LongTextsStayApart) {
  HeavyHitters callers(4);
  const std::string same(HeavyHitters::kMaxText, 'x');
  callers.add(same + "a");
  callers.add(same + "b");
  callers.add(same + "b");
  const auto top = callers.top(4);
  ASSERT_EQ(top.size(), 2U);
  EXPECT_EQ(top[0].text, same);
  EXPECT_EQ(top[0].count, 2);
  EXPECT_EQ(top[1].count, 1);
}

// The bounds of the header, against exact counts of a skewed stream.
TEST(HeavyHitters, ErrorIsBounded) {
  constexpr std::size_t kCounters = 50;
  HeavyHitters callers(kCounters);
  std::map<std::string, std::int64_t> exact;
  std::mt19937 random(7);
  std::geometric_distribution<int> skewed(0.02);
  for (int i = 0; i < 20'000; ++i) {
    const std::string name = std::to_string(skewed(random));
    callers.add(name);
    ++exact[name];
  }
  const auto share = callers.total() / static_cast<std::int64_t>(kCounters);
  EXPECT_LE(callers.error_bound(), share);
  const auto kept = callers.top(kCounters);
  for (const HeavyHitters::Caller& caller : kept) {
    EXPECT_LE(caller.error, callers.error_bound());
    EXPECT_LE(exact[caller.text], caller.count);
    EXPECT_GE(exact[caller.text], caller.count - caller.error);
  }
  for (const auto& entry : exact) {
    const bool found = std::any_of(
        kept.begin(), kept.end(),
        [&](const auto& caller) { return caller.text == entry.first; });
    EXPECT_TRUE(found || entry.second <= share) << entry.first;
  }
}

}  // namespace
}  // namespace limitree
