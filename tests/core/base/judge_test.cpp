// Modes, charges and operations over several levels that the vectors leave
// open.

#include "base/judge.hpp"

#include <gtest/gtest.h>

#include "base/decision.hpp"

namespace limitree {
namespace {

Limit limit_of(Mode mode, Charge charge = Charge::kAllOrNothing) {
  Limit limit;
  limit.rate = {std::chrono::seconds(1), 10};
  limit.mode = mode;
  limit.charge = charge;
  return limit;
}

const Limit kEnforce = limit_of(Mode::kEnforce);
const Limit kShadow = limit_of(Mode::kShadow);
const Limit kCheck = limit_of(Mode::kCheck);
const Limit kIndependent = limit_of(Mode::kEnforce, Charge::kIndependent);

void add(Plan* plan, const Limit& limit, int debt_s, std::int64_t cost = 1) {
  plan->add_level(&limit, 0, 0, cost);
  Level& level = plan->levels.back();
  level.debt = std::chrono::seconds(debt_s);
}

Decision judged(Plan* plan) {
  judge(plan->operation, plan->levels.data(), plan->levels.size());
  return aggregate(*plan);
}

TEST(Judge, ChargesNothingIfOneLevelDenies) {
  Plan plan(Operation::kAuthorize);
  add(&plan, kEnforce, 0);
  add(&plan, kEnforce, 10);
  EXPECT_TRUE(judged(&plan).limited);
  EXPECT_FALSE(plan.levels[0].verdict.charged);
  EXPECT_EQ(plan.levels[0].verdict.reset_after, Duration(0));
}

// A limit may count all attempts, even denied ones, next to others that do not.
TEST(Judge, ChargesAnIndependentLevelAmongOthers) {
  Plan plan(Operation::kAuthorize);
  add(&plan, kIndependent, 9);
  add(&plan, kEnforce, 10);
  const Decision decision = judged(&plan);
  EXPECT_TRUE(decision.limited);
  EXPECT_TRUE(plan.levels[0].verdict.charged);
  EXPECT_FALSE(plan.levels[1].verdict.charged);
  EXPECT_EQ(decision.retry_after, std::chrono::seconds(1));
}

TEST(Judge, CheckDeniesAndIsNeverCharged) {
  Plan plan(Operation::kAuthorize);
  add(&plan, kCheck, 0);
  EXPECT_FALSE(judged(&plan).limited);
  EXPECT_FALSE(plan.levels[0].verdict.charged);
  EXPECT_EQ(plan.levels[0].verdict.remaining, 9);

  Plan full(Operation::kAuthorize);
  add(&full, kCheck, 10);
  EXPECT_TRUE(judged(&full).limited);
}

TEST(Judge, ShadowIsReportedAndNeverDenies) {
  Plan plan(Operation::kAuthorize);
  add(&plan, kEnforce, 0);
  add(&plan, kShadow, 10);
  const Decision decision = judged(&plan);
  EXPECT_FALSE(decision.limited);
  EXPECT_TRUE(decision.shadowed);
  EXPECT_EQ(decision.limit, 10);
  EXPECT_EQ(decision.remaining, 9);
  EXPECT_TRUE(plan.levels[1].verdict.limited);
}

TEST(Judge, PeekSaysTheSameAndChargesNothing) {
  Plan peek(Operation::kPeek);
  add(&peek, kEnforce, 3, 2);
  const Decision would = judged(&peek);
  Plan authorize(Operation::kAuthorize);
  add(&authorize, kEnforce, 3, 2);
  const Decision is = judged(&authorize);
  EXPECT_EQ(would.remaining, is.remaining);
  EXPECT_EQ(would.reset_after, is.reset_after);
  EXPECT_FALSE(peek.levels[0].verdict.charged);
  EXPECT_TRUE(authorize.levels[0].verdict.charged);
}

TEST(Judge, SpendChargesAllLevelsAndNeverDenies) {
  Plan plan(Operation::kSpend);
  add(&plan, kEnforce, 9, 5);
  add(&plan, kShadow, 0, 11);
  add(&plan, kCheck, 0, 1);
  const Decision decision = judged(&plan);
  EXPECT_FALSE(decision.limited);
  EXPECT_EQ(decision.retry_after, kNotLimited);
  EXPECT_EQ(plan.levels[0].verdict.reset_after, std::chrono::seconds(10));
  EXPECT_TRUE(plan.levels[0].verdict.charged);
  EXPECT_EQ(plan.levels[1].verdict.remaining, 0);
  EXPECT_TRUE(plan.levels[1].verdict.charged);
  EXPECT_EQ(plan.levels[1].verdict.next_after, kNever);
  EXPECT_FALSE(plan.levels[2].verdict.charged);
}

TEST(Judge, SpendOfAnEmptyBucketWritesNothing) {
  Plan plan(Operation::kSpend);
  add(&plan, kEnforce, 10, 5);
  judged(&plan);
  EXPECT_FALSE(plan.levels[0].verdict.charged);
}

TEST(Judge, RefundNeverReachesCheckLevels) {
  Plan plan(Operation::kRefund);
  add(&plan, kEnforce, 5, 2);
  add(&plan, kCheck, 5, 2);
  judged(&plan);
  EXPECT_EQ(plan.levels[0].verdict.reset_after, std::chrono::seconds(3));
  EXPECT_TRUE(plan.levels[0].verdict.charged);
  EXPECT_EQ(plan.levels[1].verdict.reset_after, std::chrono::seconds(5));
  EXPECT_FALSE(plan.levels[1].verdict.charged);
}

}  // namespace
}  // namespace limitree
