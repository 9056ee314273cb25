// Whole trees in shadow: by `mode: shadow`, and by the option shadow_mode.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/store/manual_clock.hpp"
#include "core/tree/loaded.hpp"
#include "limiter/limiter.hpp"
#include "limiter/make_store.hpp"

namespace limitree::shadow_test {
namespace {

constexpr std::string_view kSchema = R"(
schema:
  user:
    children:
      "*":
        limits:
          - {name: rate, count: 2, period: 1h}
          - {block: true}
  checked: {limits: {count: 1, period: 1h, mode: check}}
)";

std::string in_mode(std::string_view mode) {
  return "mode: " + std::string(mode) + std::string(kSchema);
}

class Shadow : public testing::Test {
 protected:
  void make(std::string_view yaml) {
    options_.clock = clock_.clock();
    limiter_ = std::make_unique<Limiter>(
        std::make_shared<const Tree>(loaded(yaml)), options_,
        std::move(make_store(options_).value()));
  }

  Decision ask(const Segments& path,
               Operation operation = Operation::kAuthorize,
               std::int64_t cost = 1) {
    const PathCost path_cost{path, cost};
    Decision decision;
    const Status status =
        limiter_->decide(operation, {{&path_cost, 1}}, &reports_, &decision);
    EXPECT_TRUE(status.ok()) << status.error().messages[0];
    return decision;
  }

  Tally tally(std::string_view policy) {
    for (const PolicyStats& one : limiter_->policy_stats()) {
      if (one.policy == policy) return one.tally;
    }
    ADD_FAILURE() << policy;
    return {};
  }

  // Twice within the limit of a caller, then above it.
  void expect_shadow() {
    for (const bool over : {false, false, true, true}) {
      const Decision decision = ask({"user", "alex"});
      EXPECT_FALSE(decision.limited);
      EXPECT_EQ(decision.shadowed, over);
      ASSERT_EQ(reports_.size(), 2U);
      EXPECT_EQ(reports_[0].mode, Mode::kShadow);
      EXPECT_EQ(reports_[0].verdict.limited, over);
    }
    EXPECT_EQ(tally("user:*#rate").shadow_limited, 2);
    EXPECT_EQ(tally("user:*#rate").limited, 0);
    EXPECT_EQ(limiter_->stats().totals.shadow_limited, 2);
    EXPECT_EQ(limiter_->stats().totals.limited(), 0);
  }

  ManualClock clock_;
  Options options_;
  std::unique_ptr<Limiter> limiter_;
  LevelReports reports_;
  const Segments alex_ = {"user", "alex"};
};

TEST_F(Shadow, OfAFile) {
  make(in_mode("shadow"));
  expect_shadow();
  EXPECT_NE(limiter_->describe().find("capacity 2, shadow"), std::string::npos);
  EXPECT_NE(limiter_->explain(alex_).value().find(", shadow"),
            std::string::npos);
}

TEST_F(Shadow, OfAnOption) {
  ASSERT_TRUE(set_option("shadow_mode", "on", &options_).ok());
  make(kSchema);
  expect_shadow();
  const std::string said = "shadow_mode is on: no limit denies a request\n";
  EXPECT_EQ(limiter_->describe().find(said), 0U);
  EXPECT_NE(limiter_->explain(alex_).value().find(said), std::string::npos);
}

TEST_F(Shadow, OfOneName) {
  make("schema:\n  a: {mode: shadow, limits: 1/hour}\n  b: {limits: 1/hour}\n");
  for (const std::string_view name : {"a", "b"}) ask({name});
  EXPECT_TRUE(ask({"a"}).shadowed);
  EXPECT_TRUE(ask({"b"}).limited);
}

// What a limit in mode check would deny is counted, and it is not charged.
TEST_F(Shadow, OfALimitThatChecks) {
  make(in_mode("shadow"));
  EXPECT_FALSE(ask({"checked"}).shadowed);
  EXPECT_FALSE(ask({"checked"}).shadowed);
  const Decision decision = ask({"checked"}, Operation::kAuthorize, 2);
  EXPECT_TRUE(decision.shadowed);
  EXPECT_FALSE(decision.limited);
  EXPECT_EQ(tally("checked").shadow_limited, 1);
}

TEST_F(Shadow, OfABlock) {
  for (const char* mode : {"on", "off"}) {
    ASSERT_TRUE(set_option("shadow_mode", mode, &options_).ok());
    make(options_.answer_modes.shadow_mode ? kSchema : in_mode("shadow"));
    ASSERT_TRUE(limiter_->block(alex_, std::chrono::hours(1)).ok());
    EXPECT_TRUE(ask({"user", "alex"}).shadowed);
    EXPECT_FALSE(ask({"user", "alex"}).limited);
    // The block is there: it counts again when the tree is enforced.
    options_.answer_modes.shadow_mode = false;
    ASSERT_TRUE(limiter_->reload(loaded(kSchema)).ok());
    EXPECT_EQ(ask({"user", "alex"}).limited, mode == std::string_view("off"));
  }
}

TEST_F(Shadow, EndsAndBeginsWithAReload) {
  make(in_mode("shadow"));
  expect_shadow();
  ASSERT_TRUE(limiter_->reload(loaded(in_mode("enforce"))).ok());
  // What was counted in shadow counts.
  EXPECT_TRUE(ask({"user", "alex"}).limited);
  EXPECT_EQ(tally("user:*#rate").limited, 1);
  EXPECT_TRUE(ask({"checked"}, Operation::kAuthorize, 2).limited);
  ASSERT_TRUE(limiter_->reload(loaded(in_mode("shadow"))).ok());
  EXPECT_TRUE(ask({"user", "alex"}).shadowed);
  EXPECT_FALSE(ask({"user", "alex"}).limited);
}

TEST_F(Shadow, OfOverridesInAFile) {
  const Files files = {{"ids.csv", "id,count,period\nalex,1,1h\n"}};
  const Tree tree = loaded(
      "mode: shadow\n"
      "schema: {user: {overrides: ids.csv, children: {'*': {limits: 9/h}}}}\n",
      files);
  for (const std::span<const Limit> limits : tree.limits()) {
    EXPECT_EQ(limits.size(), 2U);
    for (const Limit& limit : limits) EXPECT_EQ(limit.mode, Mode::kShadow);
  }
}

TEST_F(Shadow, OfANameThatIsPut) {
  make(kSchema);
  const LimitsText text{"{mode: shadow, limits: 1/hour}", "put"};
  auto root = load_root("put", text);
  ASSERT_TRUE(root.ok()) << root.status().error().messages[0];
  ASSERT_TRUE(limiter_->put(std::move(root.value()), Replace::kNone).ok());
  ask({"put"});
  EXPECT_TRUE(ask({"put"}).shadowed);
}

}  // namespace
}  // namespace limitree::shadow_test
