#include "timeline.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"

namespace limitree::cli {
namespace {

constexpr std::int64_t kBegin = 1'772'409'600;  // 2026-03-02 00:00 UTC

// A limiter with a clock that the test sets, and what a report keeps of it.
class TimelineTest : public ::testing::Test {
 protected:
  static Config config(const std::string& limits, std::int64_t* clock_ns) {
    Config made;
    made.set_limits("schema: {" + limits + "}\n", "test.yaml");
    made.set_clock(read_clock, clock_ns);
    return made;
  }

  void request(std::string_view root, std::int64_t second) {
    now_ns_ = (kBegin + second) * kSecondNs;
    timeline_.before(kBegin + second);
    const limitree_str segment = to_str(root);
    const limitree_path path = {&segment, 1, 1, LIMITREE_PART_CHARGE};
    Decision decision;
    ErrorHandle error;
    ASSERT_EQ(limiter_.try_decide(LIMITREE_AUTHORIZE, {&path, 1}, {}, &decision,
                                  &error),
              LIMITREE_OK);
    timeline_.add(kBegin + second, decision.limited != 0, false);
  }

  // The bins of "limited" of a limit.
  std::vector<std::int64_t> limited(std::string_view label) const {
    std::vector<std::int64_t> bins;
    for (const Timeline::Counts& counts : timeline_.of(label)) {
      bins.push_back(counts[1]);
    }
    return bins;
  }

  std::int64_t now_ns_ = kBegin * kSecondNs;
  Limiter limiter_{config("a: {limits: 1/day}, b: {limits: 2/day}", &now_ns_)};
  Timeline timeline_{limiter_.get()};
};

TEST_F(TimelineTest, CountsEachLimitInEachBin) {
  request("a", 0);
  request("a", 0);  // limited
  request("b", 2);
  request("b", 2);
  request("b", 3);  // limited
  request("a", 3);  // limited
  request("a", 3);  // limited
  timeline_.finish();
  EXPECT_EQ(limited("a"), (std::vector<std::int64_t>{1, 0, 0, 2}));
  EXPECT_EQ(limited("b"), (std::vector<std::int64_t>{0, 0, 0, 1}));
  EXPECT_EQ(timeline_.of("a")[0], (Timeline::Counts{1, 1, 0, 1}));
  EXPECT_TRUE(timeline_.of("c").empty());
}

TEST_F(TimelineTest, LinesWithoutDecisionsReadNoCounters) {
  request("a", 0);
  for (std::int64_t second = 0; second < 100; ++second) {
    timeline_.before(kBegin + second);  // what follows is refused
  }
  EXPECT_EQ(timeline_.snapshots(), 1u);
  request("a", 100);  // limited
  timeline_.finish();
  timeline_.finish();
  EXPECT_EQ(timeline_.snapshots(), 2u);
  EXPECT_EQ(limited("a").back(), 1);
}

TEST_F(TimelineTest, WiderBinsKeepWhatTheyJoin) {
  // Bins of one second become bins of five seconds, 30 seconds, minutes ...
  // with pauses, so that some bins are empty.
  std::vector<std::int64_t> expected;
  for (std::int64_t second = 0; second < 86'400;
       second += second % 700 == 0 ? 301 : 7) {
    request("a", second);
    expected.push_back(second);
  }
  timeline_.finish();
  const std::int64_t step = timeline_.histogram().bin_seconds();
  EXPECT_EQ(step, 300);
  std::vector<std::int64_t> counts(timeline_.histogram().bins().size());
  for (std::size_t i = 1; i < expected.size(); ++i) {  // the first is allowed
    ++counts[static_cast<std::size_t>(expected[i] / step)];
  }
  EXPECT_EQ(limited("a"), counts);
}

}  // namespace
}  // namespace limitree::cli
