// Reservations through the limiter: units, paths, modes, reloads and receipts.

#include <gtest/gtest.h>

#include <memory>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "core/sanitizers.hpp"
#include "core/store/manual_clock.hpp"
#include "core/store/redis/redis_server.hpp"
#include "core/store/shared/shared_file.hpp"
#include "core/tree/loaded.hpp"
#include "limiter/limiter.hpp"
#include "limiter/make_store.hpp"
#include "limiter/receipt.hpp"

namespace limitree::limiter_holds_test {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using Numbers = std::vector<std::int64_t>;

constexpr std::string_view kYaml = R"(
schema:
  user:
    children:
      "*":
        limits:
          - {name: rpm, count: 60, period: 1m}
          - {name: tpm, count: 100000, period: 1m, unit: tokens, hold: 10m}
          - {name: slots, concurrent: 2, hold: 30s}
  day:
    limits: {count: 100, period: 1d, algorithm: fixed_window, align: calendar,
             hold: 1h, unsettled: free, cost: 2}
  watched: {limits: {concurrent: 1, hold: 30s, mode: shadow}}
  plain: {limits: 5/minute}
)";

class LimiterHolds : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    options_.clock = clock_.clock();
    if (std::string_view(GetParam()) == "shared") {
      ASSERT_TRUE(
          set_option("store", "shm://" + file_.folder() + "/own", &options_)
              .ok());
    }
    if (std::string_view(GetParam()) == "redis") {
      server_ = std::make_unique<redis::RedisServer>();
      const std::string url =
          "redis://127.0.0.1:" + std::to_string(server_->port());
      ASSERT_TRUE(set_option("store", url, &options_).ok());
      ASSERT_TRUE(set_option("timeout", "30s", &options_).ok());
    }
    limiter_ = std::make_unique<Limiter>(
        std::make_shared<const Tree>(loaded(kYaml)), options_,
        std::move(make_store(options_).value()));
  }

  // Each returns what is wrong, or nothing.
  std::string decide(Operation operation, Costs costs) {
    costs.reservation.id = id_;
    decision_ = {};
    const Status status =
        limiter_->decide(operation, costs, &reports_, &decision_);
    return status.ok() ? "" : status.message();
  }
  std::string reserve(Path path, std::vector<UnitCost> units = {},
                      Duration hold = {}) {
    id_ = limiter_->new_hold_id();
    const PathCost one{path, 1};
    return decide(Operation::kReserve, {{&one, 1}, units, {{}, hold}});
  }
  std::string settle(Path path, std::int64_t requests = kAsHeld,
                     std::vector<UnitCost> units = {}) {
    const PathCost one{path, requests};
    return decide(Operation::kSettle, {{&one, 1}, units});
  }
  std::string cancel(Path path) {
    const PathCost one{path, kAsHeld};
    Costs costs({&one, 1});
    costs.cancels = true;
    return decide(Operation::kSettle, costs);
  }
  std::string extend(Path path, Duration hold) {
    const PathCost one{path, kAsHeld};
    return decide(Operation::kExtend, {{&one, 1}, {}, {{}, hold}});
  }
  Numbers left(Path path, std::vector<UnitCost> units = {}) {
    const HoldId kept = id_;
    const PathCost one{path, 0};
    EXPECT_EQ(decide(Operation::kLook, {{&one, 1}, units}), "");
    id_ = kept;
    Numbers all;
    for (const LevelReport& level : reports_) {
      all.push_back(level.verdict.remaining);
    }
    return all;
  }

  const std::vector<std::string_view> alex_ = {"user", "alex"};
  const std::vector<std::string_view> day_ = {"day"};
  SharedFile file_;
  std::unique_ptr<redis::RedisServer> server_;
  ManualClock clock_;
  Options options_;
  std::unique_ptr<Limiter> limiter_;
  HoldId id_;
  LevelReports reports_;
  Decision decision_;
};

TEST_P(LimiterHolds, HoldsAndSettlesWhatWasUsed) {
  EXPECT_EQ(reserve(alex_, {{"tokens", 4000}}), "");
  EXPECT_FALSE(decision_.limited);
  EXPECT_EQ(decision_.held, 2);
  EXPECT_EQ(decision_.level_count, 3);
  EXPECT_EQ(left(alex_), Numbers({59, 96000, 1}));
  EXPECT_EQ(settle(alex_, kAsHeld, {{"tokens", 812}}), "");
  EXPECT_EQ(decision_.held, 2);
  EXPECT_EQ(left(alex_), Numbers({59, 99188, 2}));
  // Once is enough.
  EXPECT_EQ(settle(alex_, kAsHeld, {{"tokens", 5000}}), "");
  EXPECT_EQ(decision_.held, 0);
  EXPECT_EQ(left(alex_), Numbers({59, 99188, 2}));
}

TEST_P(LimiterHolds, ChargesMoreThanWasHeldToo) {
  EXPECT_EQ(reserve(alex_, {{"tokens", 10}}), "");
  EXPECT_EQ(settle(alex_, kAsHeld, {{"tokens", 90000}}), "");
  EXPECT_EQ(left(alex_), Numbers({59, 10000, 2}));
  EXPECT_EQ(reserve(alex_, {{"tokens", 10000}}), "");
  EXPECT_EQ(settle(alex_, kAsHeld, {{"tokens", 90000}}), "");
  EXPECT_EQ(left(alex_), Numbers({58, 0, 2}));
}

TEST_P(LimiterHolds, DeniesAtOnceAndSaysWhenItWouldFit) {
  EXPECT_EQ(reserve(alex_, {{"tokens", 1}}), "");
  EXPECT_EQ(reserve(alex_, {{"tokens", 1}}), "");
  clock_.advance(seconds(10));
  EXPECT_EQ(reserve(alex_, {{"tokens", 1}}), "");
  EXPECT_TRUE(decision_.limited);
  EXPECT_EQ(decision_.held, 0);
  EXPECT_EQ(decision_.binding, 2);
  EXPECT_EQ(decision_.retry_after, seconds(20));
  clock_.advance(seconds(20));
  EXPECT_EQ(reserve(alex_, {{"tokens", 1}}), "");
  EXPECT_FALSE(decision_.limited);
}

TEST_P(LimiterHolds, CancelsAndExtends) {
  EXPECT_EQ(reserve(alex_, {{"tokens", 70000}}, seconds(5)), "");
  EXPECT_EQ(extend(alex_, seconds(60)), "");
  EXPECT_EQ(decision_.held, 2);
  clock_.advance(seconds(59));
  EXPECT_EQ(left(alex_), Numbers({60, 30000, 1}));
  EXPECT_EQ(cancel(alex_), "");
  EXPECT_EQ(decision_.held, 2);
  EXPECT_EQ(left(alex_), Numbers({60, 100000, 2}));
  EXPECT_EQ(extend(alex_, seconds(60)), "");
  EXPECT_EQ(decision_.held, 0);
}

TEST_P(LimiterHolds, WhatNobodySettlesIsChargedOrFree) {
  EXPECT_EQ(reserve(alex_, {{"tokens", 70000}}, seconds(5)), "");
  EXPECT_EQ(reserve(day_), "");
  EXPECT_EQ(left(day_), Numbers({98}));
  clock_.advance(seconds(6));
  // A second of it has drained.
  EXPECT_EQ(left(alex_), Numbers({60, 31666, 2}));
  clock_.advance(hours(1));
  EXPECT_EQ(left(day_), Numbers({100}));
}

TEST_P(LimiterHolds, TheCostOfALimitMultiplies) {
  EXPECT_EQ(reserve(day_), "");
  EXPECT_EQ(settle(day_, 20), "");
  EXPECT_EQ(left(day_), Numbers({60}));
}

TEST_P(LimiterHolds, AnOperationThatEndsAtOnceCannotTakeASlot) {
  const char* const why =
      "user:*#slots limits what is held at once: reserve its units, and "
      "settle them";
  const PathCost one{alex_, 1};
  const std::vector<UnitCost> units = {{"tokens", 1}};
  EXPECT_EQ(decide(Operation::kAuthorize, {{&one, 1}, units}), why);
  EXPECT_EQ(decide(Operation::kSpend, {{&one, 1}, units}), why);
  EXPECT_EQ(decide(Operation::kPeek, {{&one, 1}, units}), "");
  EXPECT_FALSE(decision_.limited);
  EXPECT_EQ(left(alex_), Numbers({60, 100000, 2}));
}

TEST_P(LimiterHolds, RefusesTimesThatAreNone) {
  EXPECT_EQ(reserve(day_, {}, Duration(-1)),
            "hold must be more than 0 and at most 1d, is -1ns");
  EXPECT_EQ(reserve(day_, {}, hours(24) + Duration(1)),
            "hold must be more than 0 and at most 1d, is 86400.000000001s");
  EXPECT_EQ(reserve(day_, {}, hours(24)), "");
  EXPECT_EQ(extend(day_, {}), "hold must be more than 0 and at most 1d, is 0s");
}

TEST_P(LimiterHolds, SettlesInUnitsThatLimitsCount) {
  EXPECT_EQ(reserve(alex_, {{"tokens", 1}}), "");
  EXPECT_EQ(settle(alex_, kAsHeld, {{"euro", 1}}),
            "no limit counts \"euro\", they count tokens");
  EXPECT_EQ(settle(alex_, -2), "cost must not be negative, is -2");
  EXPECT_EQ(settle(alex_), "");
  EXPECT_EQ(decision_.held, 2);
}

TEST_P(LimiterHolds, PathsWithoutHoldsAreCharged) {
  const std::vector<std::string_view> plain = {"plain"};
  EXPECT_EQ(reserve(plain), "");
  EXPECT_EQ(decision_.held, 0);
  EXPECT_EQ(left(plain), Numbers({4}));
  EXPECT_EQ(settle(plain), "");
  EXPECT_EQ(decision_.held, 0);
  EXPECT_EQ(left(plain), Numbers({4}));
}

TEST_P(LimiterHolds, AShadowHoldsIfItFits) {
  const std::vector<std::string_view> watched = {"watched"};
  EXPECT_EQ(reserve(watched), "");
  EXPECT_EQ(decision_.held, 1);
  EXPECT_EQ(reserve(watched), "");
  EXPECT_EQ(decision_.held, 0);
  EXPECT_FALSE(decision_.limited);
  EXPECT_TRUE(decision_.shadowed);
}

TEST_P(LimiterHolds, AReloadMayShrinkTheLimit) {
  EXPECT_EQ(reserve(alex_, {{"tokens", 1}}), "");
  EXPECT_EQ(reserve(alex_, {{"tokens", 1}}), "");
  ASSERT_TRUE(
      limiter_
          ->reload(loaded("schema: {user: {children: {\"*\": {limits: "
                          "{name: slots, concurrent: 1, hold: 30s}}}}}"))
          .ok());
  // The bucket has another name now.
  EXPECT_EQ(left(alex_), Numbers({1}));
  ASSERT_TRUE(limiter_->reload(loaded(kYaml)).ok());
  EXPECT_EQ(left(alex_), Numbers({58, 99998, 0}));
  ASSERT_TRUE(
      limiter_
          ->reload(loaded("schema: {user: {children: {\"*\": {limits: ["
                          "{name: slots, concurrent: 1, hold: 30s}, "
                          "{name: tpm, count: 9, period: 1m, hold: 1m}]}}}}"))
          .ok());
  EXPECT_EQ(left(alex_), Numbers({0, 7}));
  EXPECT_EQ(settle(alex_), "");
  EXPECT_EQ(decision_.held, 2);
  EXPECT_EQ(reserve(alex_), "");
  EXPECT_TRUE(decision_.limited);
}

TEST_P(LimiterHolds, AReloadMayTakeHoldAway) {
  EXPECT_EQ(reserve(day_), "");
  ASSERT_TRUE(
      limiter_
          ->reload(loaded("schema: {day: {limits: {count: 100, period: 1d, "
                          "algorithm: fixed_window, align: calendar}}}"))
          .ok());
  // What is held stays so until its end.  In Redis nobody looks for it then.
  const int held = std::string_view(GetParam()) == "redis" ? 0 : 2;
  EXPECT_EQ(left(day_), Numbers({100 - held}));
  EXPECT_EQ(settle(day_), "");
  EXPECT_EQ(decision_.held, 0);
  const PathCost one{day_, 1};
  EXPECT_EQ(decide(Operation::kAuthorize, {{&one, 1}}), "");
  EXPECT_EQ(left(day_), Numbers({99 - held}));
  // What was charged meanwhile stays charged if `hold` comes back.
  ASSERT_TRUE(limiter_->reload(loaded(kYaml)).ok());
  EXPECT_EQ(left(day_), Numbers({97}));
}

TEST_P(LimiterHolds, AResetForgetsWhatIsHeld) {
  EXPECT_EQ(reserve(alex_, {{"tokens", 70000}}), "");
  ASSERT_TRUE(limiter_->reset(alex_, Forget::kPath).ok());
  EXPECT_EQ(left(alex_), Numbers({60, 100000, 2}));
  EXPECT_EQ(settle(alex_), "");
  EXPECT_EQ(decision_.held, 0);
}

TEST_P(LimiterHolds, CountsWhatBecomesOfHolds) {
  const auto counts = [this]() -> Numbers {
    const Totals totals = limiter_->stats().totals;
    return {totals.held, totals.settled, totals.ended, totals.holds_full};
  };
  EXPECT_EQ(reserve(alex_, {{"tokens", 4000}}), "");
  EXPECT_EQ(settle(alex_), "");
  EXPECT_EQ(settle(alex_), "");
  EXPECT_EQ(counts(), Numbers({2, 2, 0, 0}));
  EXPECT_EQ(reserve(alex_, {{"tokens", 1}}), "");
  EXPECT_EQ(reserve(alex_, {{"tokens", 1}}), "");
  EXPECT_EQ(reserve(alex_, {{"tokens", 1}}), "");
  EXPECT_TRUE(decision_.limited);
  EXPECT_EQ(counts(), Numbers({6, 2, 0, 0}));
  clock_.advance(seconds(31));
  left(alex_);  // looks, and books nothing
  EXPECT_EQ(counts(), Numbers({6, 2, 0, 0}));
  EXPECT_EQ(reserve(alex_, {{"tokens", 1}}), "");
  EXPECT_EQ(counts(), Numbers({8, 2, 2, 0}));
  EXPECT_EQ(cancel(alex_), "");
  EXPECT_EQ(counts(), Numbers({8, 4, 2, 0}));
}

TEST_P(LimiterHolds, CountsRequestsForWhichABucketHasTooManyHolds) {
  if (kSanitized && std::string_view(GetParam()) != "memory") {
    GTEST_SKIP() << "20 seconds";
  }
  const std::vector<std::string_view> many = {"many"};
  ASSERT_TRUE(limiter_
                  ->reload(loaded("schema: {many: {limits: {count: 20000, "
                                  "period: 1h, hold: 1m}}}"))
                  .ok());
  for (std::uint32_t i = 0; i < kMaxHolds; ++i) {
    ASSERT_EQ(reserve(many), "");
    ASSERT_FALSE(decision_.limited);
  }
  EXPECT_EQ(limiter_->stats().totals.holds_full, 0);
  EXPECT_EQ(reserve(many), "");
  EXPECT_TRUE(decision_.limited);
  EXPECT_EQ(limiter_->stats().totals.holds_full, 1);
  const std::string text = limiter_->list_holds(many).value();
  EXPECT_TRUE(text.starts_with("  many   ")) << text;
  EXPECT_NE(text.find(" 10000 in 10000 holds\n"), text.npos) << text;
  EXPECT_NE(text.find("    and 9980 more "), text.npos) << text;
  EXPECT_NE(text.find(" the last ends in 1m\n"), text.npos) << text;
}

TEST_P(LimiterHolds, ListsWhatIsHeld) {
  EXPECT_EQ(limiter_->list_holds(alex_).value(), "");
  EXPECT_EQ(limiter_->explain(alex_).value().find("held\n"), std::string::npos);
  EXPECT_EQ(reserve(alex_, {{"tokens", 4000}}), "");
  clock_.advance(seconds(12));
  EXPECT_EQ(reserve(alex_, {{"tokens", 96}}), "");
  std::string held = limiter_->list_holds(alex_).value();
  // Explaining never waits for a server.
  EXPECT_EQ(limiter_->explain(alex_).value().ends_with("held\n" + held),
            !limiter_->is_remote());
  // Ids are random.
  held = std::regex_replace(held, std::regex("[0-9a-f]{32}"), "id");
  EXPECT_EQ(std::regex_replace(held, std::regex(" +"), " "),
            " user:*#tpm 4096 tokens in 2 holds\n"
            " id 4000, ends in 9m48s\n"
            " id 96, ends in 10m\n"
            " user:*#slots 2 in 2 holds\n"
            " id 1, ends in 18s\n"
            " id 1, ends in 30s\n");
  const std::vector<std::string_view> unknown = {"nobody"};
  EXPECT_FALSE(limiter_->list_holds(unknown).ok());
}

INSTANTIATE_TEST_SUITE_P(Stores, LimiterHolds,
                         testing::Values("memory", "shared", "redis"),
                         [](const auto& one) { return one.param; });

// ---- Receipts ---------------------------------------------------------------

constexpr HoldId kId{0x0123456789abcdef, 0xfedcba9876543210};

std::string text_of(const std::vector<PathCost>& paths) {
  Result<std::string> text = receipt_text(paths, kId);
  return text.ok() ? text.value() : text.status().message();
}

std::string mistake_in(std::string_view text) {
  Result<Receipt> read = Receipt::read(text);
  return read.ok() ? "" : read.status().message();
}

TEST(Receipt, ComesBack) {
  const std::string large(10'000, '\0');
  const std::vector<std::string_view> first = {"user", "", "\xff\n"};
  const std::vector<std::string_view> second = {large};
  const std::string text =
      text_of({{first, 1, Part::kCharge}, {second, 5, Part::kSpendIfFits}});
  Result<Receipt> read = Receipt::read(text);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value().id(), kId);
  ASSERT_EQ(read.value().paths().size(), 2u);
  EXPECT_EQ(read.value().paths()[0].segments,
            std::vector<std::string>({"user", "", "\xff\n"}));
  EXPECT_EQ(read.value().paths()[0].part, Part::kCharge);
  EXPECT_EQ(read.value().paths()[1].segments,
            std::vector<std::string>({large}));
  EXPECT_EQ(read.value().paths()[1].part, Part::kSpendIfFits);
}

TEST(Receipt, RefusesWhatWasChanged) {
  const char* const why =
      "this is not a receipt of limitree, or it was changed";
  const std::vector<std::string_view> path = {"user", "alex"};
  const std::string text = text_of({{path, 1}});
  ASSERT_EQ(mistake_in(text), "");
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = other[i] == 'A' ? 'B' : 'A';
    EXPECT_EQ(mistake_in(other), why) << i;
    EXPECT_EQ(mistake_in(text.substr(0, i)), why) << i;
  }
  EXPECT_EQ(mistake_in(text + "A"), why);
  EXPECT_EQ(mistake_in(text + "="), why);
  EXPECT_EQ(mistake_in("lr1."), why);
}

TEST(Receipt, HasABound) {
  const char* const why = "a receipt has at most 65536 bytes";
  const std::string large(60'000, 'x');
  const std::vector<std::string_view> path = {"user", large};
  EXPECT_EQ(text_of({{path, 1}}), why);
  EXPECT_EQ(mistake_in("lr1." + large + large), why);
}

}  // namespace
}  // namespace limitree::limiter_holds_test
