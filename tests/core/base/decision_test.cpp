#include "base/decision.hpp"

#include <gtest/gtest.h>

#include "base/judge.hpp"

namespace limitree {
namespace {

TEST(Aggregate, OfNoLevelIsUnlimited) {
  const Decision decision = aggregate(Plan(Operation::kAuthorize));
  EXPECT_TRUE(decision.unlimited);
  EXPECT_EQ(to_throttle_reply(decision), (ThrottleReply{0, -1, -1, -1, 0}));
}

TEST(Aggregate, OfShadowLevelsAloneIsUnlimited) {
  Limit shadow;
  shadow.rate = {Duration(1), 1};
  shadow.mode = Mode::kShadow;
  Plan plan(Operation::kAuthorize);
  plan.add_level(&shadow, 0u, 0u, 1);
  judge(plan.operation, plan.levels.data(), 1);
  const Decision decision = aggregate(plan);
  EXPECT_TRUE(decision.unlimited);
  EXPECT_EQ(decision.level_count, 1);
  EXPECT_EQ(decision.binding, -1);
}

TEST(ToCell, RoundsUpFromOneNanosecond) {
  Decision decision;
  decision.limited = true;
  decision.limit = 5;
  decision.remaining = 0;
  decision.retry_after = Duration(1);
  decision.reset_after = std::chrono::seconds(7) + Duration(1);
  EXPECT_EQ(to_throttle_reply(decision), (ThrottleReply{1, 5, 0, 1, 8}));
  decision.reset_after = std::chrono::seconds(7);
  EXPECT_EQ(to_throttle_reply(decision)[4], 7);
}

TEST(ToCell, TellsNeverByMinusOne) {
  Decision decision;
  decision.limited = true;
  decision.retry_after = kNever;
  EXPECT_EQ(to_throttle_reply(decision)[0], 1);
  EXPECT_EQ(to_throttle_reply(decision)[3], -1);
}

}  // namespace
}  // namespace limitree
