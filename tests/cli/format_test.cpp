#include "format.hpp"

#include <gtest/gtest.h>

#include "limitree.h"

namespace limitree::cli {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kS = 1000 * kMs;

TEST(Format, Durations) {
  EXPECT_EQ(duration_text(0), "0s");
  EXPECT_EQ(duration_text(1), "1ns");
  EXPECT_EQ(duration_text(1'500), "1.5us");
  EXPECT_EQ(duration_text(250 * kMs), "250ms");
  EXPECT_EQ(duration_text(kS), "1s");
  EXPECT_EQ(duration_text(1500 * kMs), "1.5s");
  EXPECT_EQ(duration_text(59 * kS), "59s");
  EXPECT_EQ(duration_text(60 * kS), "1m");
  EXPECT_EQ(duration_text(150 * kS), "2m30s");
  EXPECT_EQ(duration_text(3600 * kS), "1h");
  EXPECT_EQ(duration_text(5400 * kS), "1h30m");
  EXPECT_EQ(duration_text(86'400 * kS), "1d");
  EXPECT_EQ(duration_text((3 * 86'400 + 4 * 3600) * kS), "3d4h");
}

TEST(Format, DurationsAreRoundedUp) {
  EXPECT_EQ(duration_text(kS + 1), "1.001s");
  EXPECT_EQ(duration_text(60 * kS - 1), "1m");
  EXPECT_EQ(duration_text(60 * kS + 1), "1m1s");
  EXPECT_EQ(duration_text(3600 * kS - 1), "1h");
  EXPECT_EQ(duration_text(86'400 * kS - 1), "1d");
  EXPECT_EQ(duration_text(INT64_MAX - 1), "106751d23h");
}

TEST(Format, Waits) {
  EXPECT_EQ(wait_text(-1), "-");
  EXPECT_EQ(wait_text(LIMITREE_NEVER), "never");
  EXPECT_EQ(wait_text(1500 * kMs), "1.5s");
}

TEST(Format, Counts) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1000), "1,000");
  EXPECT_EQ(count_text(1'234'567), "1,234,567");
  EXPECT_EQ(count_text(-123), "-123");
  EXPECT_EQ(count_text(-1234), "-1,234");
  EXPECT_EQ(percent_text(1, 3), "33.33%");
  EXPECT_EQ(percent_text(1, 0), "-");
}

TEST(Format, CivilTimes) {
  const CivilTime time{1'772'442'303, 3600};
  EXPECT_EQ(date_text(time), "2026-03-02");
  EXPECT_EQ(clock_text(time), "10:05:03");
  EXPECT_EQ(date_time_text(time), "2026-03-02 10:05:03 +0100");
  EXPECT_EQ(iso_text(time), "2026-03-02T10:05:03+01:00");
  EXPECT_EQ(date_time_text({-1, -5400}), "1969-12-31 22:29:59 -0130");
}

TEST(Format, NothingReachesTheTerminalsState) {
  EXPECT_EQ(printable("plain /path", true), "plain /path");
  EXPECT_EQ(printable("\033[2J", true), "\\x1b[2J");
  EXPECT_EQ(printable("a\nb\x7f", true), "a\\x0ab\\x7f");
  EXPECT_EQ(printable("\xc2\x9b", true), "\\xc2\\x9b");
  EXPECT_EQ(printable("\xc3\xa4", true), "\xc3\xa4");
  EXPECT_EQ(printable("\xc3\xa4", false), "\\xc3\\xa4");
}

TEST(Format, InvalidUtf8IsEscaped) {
  for (const char* const text :
       {"\xff", "\xc3", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80",
        "\xf4\x90\x80\x80", "\x80", "\xe2\x82"}) {
    EXPECT_TRUE(printable(text, true).starts_with("\\x")) << printable(text, 1);
  }
  EXPECT_EQ(printable("\xf0\x9f\x8c\xb3", true), "\xf0\x9f\x8c\xb3");
}

TEST(Format, WidthCountsCharacters) {
  EXPECT_EQ(display_width(""), 0U);
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("\xc3\xa4\xe2\x96\x88"), 2U);
}

}  // namespace
}  // namespace limitree::cli
