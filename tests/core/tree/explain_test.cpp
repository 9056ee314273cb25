#include <gtest/gtest.h>

#include <string>

#include "core/tree/loaded.hpp"

namespace limitree {
namespace {

constexpr std::string_view kLimits = R"(
schema:
  user:
    children:
      "*":
        limits: [15, 30, 60]
        children: {trade: {limits: [5, 10, 15]}}
      carol: {limits: {burst: 300, count: 600, period: 1m, mode: shadow}}
  ip:
    key: ip
    children:
      "10.0.0.0/8": {limits: []}
      "192.0.2.*": {share: true, limits: 7/minute}
      "*": {limits: 1/s}
  job: {limits: {count: 5, period: 1m, algorithm: fixed_window}}
)";

std::string explained(const Segments& path) {
  Result<std::string> text = loaded(kLimits).explain(path);
  return text.ok() ? text.value() : text.status().error().messages.front();
}

TEST(Explain, SaysWhichChildAndWhy) {
  EXPECT_EQ(explained({"user", "alex", "trade"}), R"(path
  user    top-level name
  alex    matches "*", no other child does
  trade   exact child
levels
  user:*         30 per 1m, capacity 16
    bucket       user:alex
    refill       one token per 2s, full after 32s
  user:*/trade   10 per 15s, capacity 6
    bucket       user:alex:trade
    refill       one token per 1.5s, full after 9s
)");
}

TEST(Explain, SaysWhatIsInheritedAndWhereTheWalkEnds) {
  EXPECT_EQ(explained({"user", "carol", "trade", "spot", "x"}), R"(path
  user    top-level name
  carol   exact child
  trade   exact child, inherited from user:*
  spot    nothing is below user:*/trade: the walk ends before it
levels
  user:carol     600 per 1m, capacity 300, shadow
    bucket       user:carol
    refill       one token per 100ms, full after 30s
  user:*/trade   10 per 15s, capacity 6
    bucket       user:carol:trade
    refill       one token per 1.5s, full after 9s
)");
  EXPECT_EQ(explained({"user", "carol", "login"}), R"(path
  user    top-level name
  carol   exact child
  login   no child of user:carol matches: the walk ends before it
levels
  user:carol   600 per 1m, capacity 300, shadow
    bucket     user:carol
    refill     one token per 100ms, full after 30s
)");
}

TEST(Explain, Addresses) {
  EXPECT_EQ(explained({"ip", "10.1.2.3"}), R"(path
  ip         top-level name
  10.1.2.3   lies in 10.0.0.0/8, no limits here
levels
  none: the path is unlimited
)");
  EXPECT_EQ(explained({"ip", "::ffff:192.0.2.9"}), R"(path
  ip                 top-level name
  ::ffff:192.0.2.9   matches "192.0.2.*", one bucket for all that match
levels
  ip:192.0.2.*   7 per 1m, capacity 7
    bucket       ip:192.0.2.*
    refill       one token per 8.571428571s, full after 59.999999997s
)");
  EXPECT_EQ(explained({"ip", "2001:db8::9"}), R"(path
  ip            top-level name
  2001:db8::9   matches "*", no other child does, counted as 2001:db8::/64
levels
  ip:*       1 per 1s, capacity 1
    bucket   ip:2001%3Adb8%3A%3A/64
    refill   one token per 1s, full after 1s
)");
}

TEST(Explain, Windows) {
  EXPECT_EQ(explained({"job"}), R"(path
  job   top-level name
levels
  job        5 per 1m, capacity 5, fixed_window
    bucket   job!fw
    window   1m, all of it at once
)");
}

TEST(Explain, Leases) {
  const Tree tree = loaded(R"(
schema:
  user:
    children:
      "*":
        limits: {count: 1000, period: 1s, lease: 100ms}
        children:
          trade: {limits: {count: 100, period: 1s, lease: 50ms}}
          slow: {limits: {count: 100, period: 1s}}
          ban: {limits: {block: true}}
          seen: {limits: {count: 9, period: 9s, mode: shadow, lease: 1s}}
  job: {limits: {count: 100, period: 1s, lease: 50ms}}
)");
  const auto end_of = [&](const Segments& path) {
    const std::string text = tree.explain(path).value();
    const std::size_t at = text.find("leases\n  ");
    return at == std::string::npos ? "" : text.substr(at + 9);
  };
  EXPECT_EQ(end_of({"job"}), "of all levels together, for 50ms\n");
  EXPECT_EQ(end_of({"user", "alex", "trade"}),
            "of all levels together, for 50ms\n");
  EXPECT_EQ(end_of({"user", "alex", "slow"}),
            "not leased: user:*/slow has no lease\n");
  EXPECT_EQ(end_of({"user", "alex", "ban"}),
            "not leased: user:*/ban#blocked has no lease\n");
  EXPECT_EQ(end_of({"user", "alex", "seen"}),
            "not leased: user:*/seen only looks on\n");
}

TEST(Explain, IsSafeToPrint) {
  const std::string line_separator = "\xE2\x80\xA8";
  const std::string text = explained({"user", "a" + line_separator, "trade"});
  EXPECT_NE(text.find("bucket"), text.npos) << text;
  EXPECT_EQ(text.find(line_separator), text.npos) << text;
}

TEST(Explain, FailsAsMatchDoes) {
  EXPECT_EQ(explained({}), "the path is empty");
  EXPECT_EQ(explained({"usr"}),
            "unknown root \"usr\", the tree has: user, ip, job");
  EXPECT_EQ(explained({"ip", "x"}), "segment 1 \"x\" is not an IP address");
}

TEST(Explain, IsOneSafeLineForEachSegment) {
  const std::string text = explained({"user", "a\nb\x1b[31m", ""});
  EXPECT_NE(text.find("  a\\x0Ab\\x1B[31m   matches"), std::string::npos);
  EXPECT_NE(text.find("  \"\" "), std::string::npos);
}

}  // namespace
}  // namespace limitree
