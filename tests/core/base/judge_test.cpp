// Modes, charges and operations over several levels that the vectors leave
// open.

#include "base/judge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/decision.hpp"
#include "base/demand.hpp"
#include "base/fixed_window.hpp"
#include "base/plan.hpp"
#include "core/base/hits.hpp"

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

// Counters whose `used` units are known, with the answers of the algorithm.
class Counters {
 public:
  explicit Counters(Operation operation) : plan(operation) {
    usages_.resize(4);
  }

  void add(const Limit& limit, std::int64_t used, std::int64_t cost) {
    const Duration half = limit.period / 2;
    FixedWindow bucket({Instant(), used}, {Instant(), Instant(limit.period)});
    Usage& usage = usages_[plan.levels.size()];
    usage = evaluate({plan.operation, cost, limit.rate.capacity,
                      limit.rate.capacity, Instant(half), true, limit.charge},
                     &bucket);
    plan.add_level(&limit, 0, 0, cost);
    plan.levels.back().usage = &usage;
  }
  Decision judged() { return limitree::judged(&plan); }
  const Level& level(std::size_t i) const { return plan.levels[i]; }
  const Verdict& verdict(std::size_t i) const { return level(i).verdict; }

  Plan plan;

 private:
  InlineVector<Usage, 4> usages_;
};

Limit counter_of(Charge charge, std::int64_t count = 10) {
  Limit limit = make_counter(count, std::chrono::minutes(1));
  limit.charge = charge;
  return limit;
}

// Each row: units in use and cost, and what the level says.
TEST(JudgeHits, CountsEveryHitAndDeniesByWhatItLeaves) {
  struct Row {
    std::int64_t used;
    std::int64_t cost;
    bool limited;
    std::int64_t remaining;
  };
  constexpr Row kRows[] = {
      {0, 1, false, 9},  {0, 10, false, 0},       {0, 11, true, 0},
      {9, 1, false, 0},  {9, 2, true, 0},         {10, 1, true, 0},
      {500, 7, true, 0}, {0, 0, false, 10},       {10, 0, false, 0},
      {11, 0, true, 0},  {0, INT64_MAX, true, 0}, {kMaxUnits, 1, true, 0},
      {500, 0, true, 0},
  };
  const Limit limit = counter_of(Charge::kEveryHit);
  for (const Row& row : kRows) {
    Counters counters(Operation::kAuthorize);
    counters.add(limit, row.used, row.cost);
    const Decision decision = counters.judged();
    const Verdict& verdict = counters.verdict(0);
    SCOPED_TRACE(std::to_string(row.used) + " and " + std::to_string(row.cost));
    EXPECT_EQ(verdict.limited, row.limited);
    EXPECT_EQ(decision.limited, row.limited);
    EXPECT_EQ(verdict.remaining, row.remaining);
    EXPECT_EQ(verdict.charged, row.cost > 0);
    EXPECT_EQ(counters.level(0).before, row.used);
    EXPECT_EQ(verdict.reset_after, std::chrono::seconds(30));
    EXPECT_EQ(verdict.retry_after, !row.limited    ? kNotLimited
                                   : row.cost > 10 ? kNever
                                                   : std::chrono::seconds(30));
    const Hits hits = hits_of(counters.level(0));
    EXPECT_EQ(hits.before, row.used);
    EXPECT_EQ(hits.after, saturating_sum(row.used, row.cost));
    EXPECT_EQ(hits.exceeds(10), row.limited);
    EXPECT_EQ(hits.remaining(10), row.remaining);
  }
}

// A limit of nothing denies what costs something.
TEST(JudgeHits, AdmitsNothingIfTheCountIsZero) {
  const Limit limit = counter_of(Charge::kEveryHit, 0);
  for (const std::int64_t cost : {0, 1}) {
    Counters counters(Operation::kAuthorize);
    counters.add(limit, 0, cost);
    EXPECT_EQ(counters.judged().limited, cost > 0);
    EXPECT_EQ(counters.verdict(0).remaining, 0);
    EXPECT_EQ(counters.verdict(0).charged, cost > 0);
  }
}

// Two counters, one of which is over: what each charge makes of both.
TEST(JudgeHits, ChargesAsTheLimitSays) {
  struct Row {
    Charge charge;
    bool fitting;
    bool denying;
  };
  for (const Row& row : {Row{Charge::kAllOrNothing, false, false},
                         Row{Charge::kIndependent, true, false},
                         Row{Charge::kAllOrDenying, false, true},
                         Row{Charge::kEveryHit, true, true}}) {
    const Limit limit = counter_of(row.charge);
    SCOPED_TRACE(static_cast<int>(row.charge));
    Counters counters(Operation::kAuthorize);
    counters.add(limit, 3, 1);
    counters.add(limit, 10, 1);
    EXPECT_TRUE(counters.judged().limited);
    EXPECT_FALSE(counters.verdict(0).limited);
    EXPECT_TRUE(counters.verdict(1).limited);
    EXPECT_EQ(counters.verdict(0).charged, row.fitting);
    EXPECT_EQ(counters.verdict(0).remaining, row.fitting ? 6 : 7);
    EXPECT_EQ(counters.verdict(1).charged, row.denying);
    EXPECT_EQ(counters.verdict(1).remaining, 0);

    Counters allowed(Operation::kAuthorize);
    allowed.add(limit, 3, 1);
    allowed.add(limit, 9, 1);
    EXPECT_FALSE(allowed.judged().limited);
    EXPECT_TRUE(allowed.verdict(0).charged);
    EXPECT_TRUE(allowed.verdict(1).charged);
  }
}

// A counter that denies still denies the request of others.
TEST(JudgeHits, DeniesLevelsThatAreChargedTogether) {
  const Limit hits = counter_of(Charge::kEveryHit);
  const Limit joint = counter_of(Charge::kAllOrNothing);
  Counters counters(Operation::kAuthorize);
  counters.add(hits, 10, 1);
  counters.add(joint, 0, 1);
  add(&counters.plan, kEnforce, 0);
  EXPECT_TRUE(counters.judged().limited);
  EXPECT_TRUE(counters.verdict(0).charged);
  EXPECT_FALSE(counters.verdict(1).charged);
  EXPECT_FALSE(counters.verdict(2).charged);
}

TEST(JudgeHits, ShadowCountsAndNeverDenies) {
  Limit limit = counter_of(Charge::kEveryHit);
  limit.mode = Mode::kShadow;
  Counters counters(Operation::kAuthorize);
  counters.add(limit, 10, 3);
  EXPECT_FALSE(counters.judged().limited);
  EXPECT_TRUE(counters.verdict(0).limited);
  EXPECT_TRUE(counters.verdict(0).charged);
  EXPECT_EQ(counters.level(0).before, 10);
}

TEST(JudgeHits, PeekAndCheckSayTheSameAndChargeNothing) {
  const Limit limit = counter_of(Charge::kEveryHit);
  Limit check = limit;
  check.mode = Mode::kCheck;
  for (const std::int64_t used : {8, 9, 10}) {
    Counters counters(Operation::kPeek);
    counters.add(limit, used, 1);
    counters.judged();
    Counters checked(Operation::kAuthorize);
    checked.add(check, used, 1);
    checked.judged();
    for (const Counters* one : {&counters, &checked}) {
      EXPECT_EQ(one->verdict(0).limited, used == 10);
      EXPECT_FALSE(one->verdict(0).charged);
      EXPECT_EQ(one->verdict(0).remaining, std::max(9 - used, int64_t{0}));
    }
  }
}

TEST(JudgeHits, SpendCountsAllOfItAndNeverDenies) {
  const Limit limit = counter_of(Charge::kEveryHit);
  Counters counters(Operation::kSpend);
  counters.add(limit, 9, 500);
  counters.add(limit, kMaxUnits, 1);
  EXPECT_FALSE(counters.judged().limited);
  EXPECT_TRUE(counters.verdict(0).charged);
  EXPECT_EQ(side_of(counters.level(0), true).used, 509);
  EXPECT_FALSE(counters.verdict(1).charged) << "it cannot hold more";
}

TEST(JudgeHits, RefundStopsAtNothing) {
  const Limit limit = counter_of(Charge::kEveryHit);
  Counters counters(Operation::kRefund);
  counters.add(limit, 25, 5);
  counters.add(limit, 25, 100);
  counters.add(limit, 0, 1);
  EXPECT_FALSE(counters.judged().limited);
  EXPECT_EQ(counters.verdict(0).remaining, 0) << "20 are in use";
  EXPECT_EQ(counters.verdict(1).remaining, 10);
  EXPECT_TRUE(counters.verdict(1).charged);
  EXPECT_FALSE(counters.verdict(2).charged) << "no bucket is made";
  EXPECT_EQ(counters.verdict(2).reset_after, std::chrono::seconds(30));
}

TEST(JudgeHits, OfOneBucketAreTakenApart) {
  const Limit limit = counter_of(Charge::kEveryHit);
  Counters counters(Operation::kAuthorize);
  counters.add(limit, 7, 5);  // of hits that cost 3 and 2
  counters.judged();
  const Hits first = hits_of(counters.level(0), 0, 3);
  const Hits second = hits_of(counters.level(0), 3, 2);
  EXPECT_EQ(first.before, 7);
  EXPECT_EQ(first.after, 10);
  EXPECT_FALSE(first.exceeds(10));
  EXPECT_EQ(second.before, 10);
  EXPECT_EQ(second.after, 12);
  EXPECT_TRUE(second.exceeds(10));
}

// Also where another level was before.
TEST(Judge, ANewLevelHasNoUsageUntilAStoreHasSetIt) {
  const Limit limit = counter_of(Charge::kEveryHit);
  const Usage usage{};
  Plan plan(Operation::kAuthorize);
  for (int i = 0; i < 20; ++i) plan.add_level(&limit, 0, 0, 1);
  for (Level& level : plan.levels) level.usage = &usage;
  plan.levels.resize(0);
  for (int i = 0; i < 20; ++i) {
    plan.add_level(&limit, 0, 0, 1);
    EXPECT_EQ(plan.levels.back().usage, nullptr);
  }
}

using JudgeDeathTest = testing::Test;

// A store that forgets to answer for a level ends at once: no verdict is made
// up of what was in memory.
TEST_F(JudgeDeathTest, AskedAboutALevelThatNoStoreHasSeenEnds) {
  const Limit limit = counter_of(Charge::kEveryHit);
  for (const Operation operation : {Operation::kAuthorize, Operation::kPeek,
                                    Operation::kSpend, Operation::kRefund}) {
    Plan plan(operation);
    plan.add_level(&limit, 0, 0, 1);
    EXPECT_DEATH(judged(&plan), "");
  }
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

// What is known to be denied charges nothing that waits for the others, but for
// what denies by itself.
TEST(Judge, KnowsWhatIsDeniedAlready) {
  Limit counter = make_counter(5, std::chrono::minutes(1));
  counter.charge = Charge::kAllOrDenying;
  Plan plan(Operation::kAuthorize);
  add(&plan, kEnforce, 0);
  add(&plan, kIndependent, 0);
  Usage fits{};
  fits.fits = fits.changes = true;
  add(&plan, counter, 0);
  plan.levels.back().usage = &fits;
  Usage denies{};
  denies.changes = true;
  add(&plan, counter, 0);
  plan.levels.back().usage = &denies;
  judge(plan.operation, plan.levels.data(), 3, true);
  EXPECT_FALSE(plan.levels[0].verdict.charged);
  EXPECT_FALSE(plan.levels[0].verdict.limited);
  EXPECT_TRUE(plan.levels[1].verdict.charged);
  EXPECT_FALSE(plan.levels[2].verdict.charged);
  judge(plan.operation, plan.levels.data(), 4, true);
  EXPECT_TRUE(plan.levels[3].verdict.charged);
  EXPECT_TRUE(plan.levels[3].verdict.limited);
}

TEST(DecideAssuming, ChargesNothing) {
  const Limit counter = make_counter(5, std::chrono::minutes(1));
  for (const Buckets buckets : {Buckets::kFull, Buckets::kEmpty}) {
    Plan plan(Operation::kAuthorize);
    plan.add_level(&kEnforce, 0, 0, 1);
    plan.add_level(&counter, 0, 0, 1);
    decide_assuming(buckets, &plan);
    for (const Level& level : plan.levels) {
      EXPECT_EQ(level.verdict.limited, buckets == Buckets::kEmpty);
      EXPECT_FALSE(level.verdict.charged);
      EXPECT_EQ(level.verdict.remaining, buckets == Buckets::kEmpty
                                             ? 0
                                             : level.limit->rate.capacity - 1);
    }
  }
}

}  // namespace
}  // namespace limitree
