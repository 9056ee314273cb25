// Callers that are blocked for a time, and limits that count denials, in every
// store.

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/store/manual_clock.hpp"
#include "core/store/memcached/memcached_server.hpp"
#include "core/store/redis/redis_server.hpp"
#include "core/store/shared/shared_file.hpp"
#include "core/tree/loaded.hpp"
#include "limiter/limiter.hpp"
#include "limiter/make_store.hpp"

namespace limitree::blocks_test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using Names = std::vector<std::string_view>;

constexpr std::string_view kYaml = R"(
schema:
  user:
    children:
      "*":
        limits:
          - {name: rate, count: 2, period: 10s}
          - {block: true}
        children:
          trade: {limits: 1/second}
          shut: {limits: {block: true}}
          tries: {limits: {count: 1, period: 1h, algorithm: sliding_log,
                           charge: denials}}
  rude:
    children:
      "*":
        limits:
          - {name: rate, count: 2, period: 10s}
          - {name: breaches, count: 1, period: 1h, burst: 3, charge: denials}
          - {block: true}
  login:
    children:
      "*":
        limits:
          - {name: tries, count: 1, period: 1m, algorithm: fixed_window}
          - {name: denied, count: 2, period: 1h, algorithm: sliding_log,
             charge: denials}
  only: {children: {"*": {limits: [{name: shut, block: true}]}}}
  plain: {limits: 5/minute}
)";

class BlocksTest : public testing::TestWithParam<const char*> {
 protected:
  static void SetUpTestSuite() {
    redis_ = new redis::RedisServer;
    memcached_ = new memcached::MemcachedServer;
  }
  static void TearDownTestSuite() {
    delete redis_;
    delete memcached_;
  }

  void SetUp() override {
    limiter_ = made();
    // At the beginning of a window of a minute, of an hour and of a day.
    clock_.set(Instant(hours(24 * 20'000)));
  }

  std::unique_ptr<Limiter> made() {
    Options options;
    options.clock = clock_.clock();
    const std::string test =
        testing::UnitTest::GetInstance()->current_test_info()->name();
    const std::string store = GetParam();
    const auto set = [&](std::string_view name, const std::string& value) {
      EXPECT_TRUE(set_option(name, value, &options).ok()) << value;
    };
    if (store == "shared") set("store", "shm://" + file_.folder() + "/own");
    if (store == "redis") {
      set("store", "redis://127.0.0.1:" + std::to_string(redis_->port()));
    }
    if (store == "memcached") set("store", "memcached://" + memcached_->host());
    set("timeout", "30s");
    set("prefix", test + ":");
    return std::make_unique<Limiter>(
        std::make_shared<const Tree>(loaded(kYaml)), options,
        std::move(make_store(options).value()));
  }

  Decision ask(Path path, std::int64_t cost = 1,
               Operation operation = Operation::kAuthorize) {
    Decision decision;
    const PathCost path_cost{path, cost};
    const Status status =
        limiter_->decide(operation, {{&path_cost, 1}}, &reports_, &decision);
    EXPECT_TRUE(status.ok()) << status.message();
    return decision;
  }
  std::string_view binding(const Decision& decision) const {
    return reports_[static_cast<std::size_t>(decision.binding)].policy;
  }

  static inline redis::RedisServer* redis_ = nullptr;
  static inline memcached::MemcachedServer* memcached_ = nullptr;
  const Names alex_ = {"user", "alex"};
  const Names trade_ = {"user", "alex", "trade"};
  const Names rude_ = {"rude", "alex"};
  SharedFile file_;
  ManualClock clock_;
  std::unique_ptr<Limiter> limiter_;
  LevelReports reports_;
};

INSTANTIATE_TEST_SUITE_P(Stores, BlocksTest,
                         testing::Values("memory", "shared", "redis",
                                         "memcached"),
                         [](const auto& one) { return one.param; });

TEST_P(BlocksTest, DenyUntilTheirEnd) {
  ASSERT_TRUE(limiter_->block(alex_, hours(1)).ok());
  for (const std::int64_t cost : {0, 1, 5}) {
    const Decision decision = ask(alex_, cost);
    EXPECT_TRUE(decision.limited);
    EXPECT_EQ(binding(decision), cost == 5 ? "user:*#rate" : "user:*#blocked");
    if (cost == 5) continue;  // never fits into the rate
    EXPECT_EQ(decision.retry_after, hours(1));
    EXPECT_EQ(decision.reset_after, hours(1));
    EXPECT_EQ(decision.limit, 1);
    EXPECT_EQ(decision.remaining, 0);
  }
  EXPECT_EQ(reports_[1].mode, Mode::kCheck);
  EXPECT_EQ(reports_[1].window, hours(1));
  EXPECT_TRUE(ask(trade_).limited) << "below the block";
  EXPECT_FALSE(ask(Names{"user", "bea"}).limited);
  clock_.advance(hours(1) - seconds(1));
  EXPECT_EQ(ask(alex_, 1, Operation::kPeek).retry_after, seconds(1));
  clock_.advance(seconds(1));
  EXPECT_FALSE(ask(alex_).limited);
}

TEST_P(BlocksTest, AreReplacedByTheNext) {
  ASSERT_TRUE(limiter_->block(alex_, hours(24)).ok());
  ASSERT_TRUE(limiter_->block(alex_, minutes(1)).ok());
  EXPECT_EQ(ask(alex_).retry_after, minutes(1));
  ASSERT_TRUE(limiter_->block(trade_, kMaxBurstOffset).ok());
  clock_.advance(hours(1));
  EXPECT_EQ(ask(alex_).retry_after, kMaxBurstOffset - hours(1));
  ASSERT_TRUE(limiter_->block(alex_, Duration(1)).ok());
  clock_.advance(seconds(1));
  EXPECT_FALSE(ask(alex_).limited);
}

TEST_P(BlocksTest, EndWhenTheyAreLifted) {
  const std::unique_ptr<Limiter> other = made();
  ASSERT_TRUE(other->block(alex_, hours(1)).ok());
  const bool shares = std::string_view(GetParam()) != "memory";
  EXPECT_EQ(ask(alex_).limited, shares);
  ASSERT_TRUE(limiter_->block(alex_, hours(1)).ok());
  ASSERT_TRUE(limiter_->reset(alex_, Forget::kPath).ok());
  EXPECT_TRUE(ask(alex_).limited) << "a reset is about what was used";
  // Another process lifts it: nothing here remembers it.
  ASSERT_TRUE((shares ? *other : *limiter_).reset(alex_, Forget::kBlock).ok());
  const Decision decision = ask(alex_);
  EXPECT_FALSE(decision.limited);
  EXPECT_EQ(decision.remaining, 1);
}

TEST_P(BlocksTest, AreNotForgottenWithALeafNorIsItsParent) {
  EXPECT_FALSE(ask(alex_, 2).limited);
  for (const std::string_view leaf : {"shut", "tries"}) {
    const Names path = {"user", "alex", leaf};
    EXPECT_TRUE(limiter_->reset(path, Forget::kLeaf).ok());
    EXPECT_TRUE(ask(alex_).limited) << leaf;
    EXPECT_TRUE(limiter_->reset(path, Forget::kPath).ok());
    EXPECT_FALSE(ask(alex_, 2).limited) << leaf;
  }
  EXPECT_TRUE(limiter_->reset(alex_, Forget::kLeaf).ok());
  EXPECT_FALSE(ask(alex_).limited);
}

TEST_P(BlocksTest, AreNotHeardOfUnlessTheyDeny) {
  const Decision first = ask(alex_);
  EXPECT_EQ(binding(first), "user:*#rate");
  EXPECT_EQ(first.limit, 2);
  EXPECT_EQ(first.remaining, 1);
  EXPECT_EQ(first.reset_after, seconds(5));
  EXPECT_EQ(reports_[1].mode, Mode::kShadow);
  EXPECT_FALSE(ask(alex_).limited);
  const Decision denial = ask(alex_);
  EXPECT_EQ(binding(denial), "user:*#rate");
  EXPECT_EQ(denial.retry_after, seconds(5));
  EXPECT_EQ(denial.reset_after, seconds(10));
  const Names only = {"only", "alex"};
  EXPECT_TRUE(ask(only).unlimited);
  ASSERT_TRUE(limiter_->block(only, seconds(7)).ok());
  EXPECT_EQ(ask(only).retry_after, seconds(7));
  EXPECT_EQ(reports_[0].policy, "only:*#shut");
}

TEST_P(BlocksTest, DoNotMeetWhatIsSpentOrGivenBack) {
  ASSERT_TRUE(limiter_->block(alex_, hours(1)).ok());
  const Decision spent = ask(alex_, 2, Operation::kSpend);
  EXPECT_EQ(spent.remaining, 0);
  EXPECT_EQ(spent.reset_after, seconds(10));
  EXPECT_EQ(ask(alex_, 1, Operation::kRefund).remaining, 1);
  EXPECT_EQ(ask(alex_).retry_after, hours(1));
}

TEST_P(BlocksTest, AreRefusedWhereThereIsNone) {
  const auto refusal = [&](const Names& path, Duration time) {
    return limiter_->block(path, time).message();
  };
  constexpr const char* kNone =
      "nothing on the path can be blocked: no limit there says block: true";
  EXPECT_EQ(refusal({"plain"}, hours(1)), kNone);
  EXPECT_EQ(limiter_->reset(Names{"plain"}, Forget::kBlock).message(), kNone);
  EXPECT_EQ(refusal(alex_, {}),
            "a block must last from 1ns to 100 years, is 0s");
  EXPECT_TRUE(refusal(alex_, kMaxBurstOffset + Duration(1))
                  .starts_with("a block must last from 1ns to 100 years, is "));
  EXPECT_EQ(limiter_->block(Names{"nobody"}, hours(1)).code(),
            Code::kUnknownRoot);
}

TEST_P(BlocksTest, CountDenialsInTheSameStep) {
  EXPECT_FALSE(ask(rude_).limited);
  EXPECT_FALSE(ask(rude_).limited);
  EXPECT_EQ(ask(rude_).retry_after, seconds(5));
  EXPECT_EQ(ask(rude_, 1, Operation::kPeek).retry_after, seconds(5));
  EXPECT_EQ(ask(rude_, 2).retry_after, seconds(10)) << "a denial is a denial";
  const Decision third = ask(rude_);
  EXPECT_EQ(third.retry_after, hours(1)) << "the third breach";
  EXPECT_EQ(third.next_after, hours(1));
  EXPECT_EQ(binding(third), "rude:*#rate");
  clock_.advance(minutes(1));
  const Decision shut = ask(rude_);
  EXPECT_TRUE(shut.limited) << "although the rate would allow it";
  EXPECT_EQ(binding(shut), "rude:*#breaches");
  EXPECT_EQ(shut.retry_after, minutes(59));
  EXPECT_EQ(ask(rude_).retry_after, minutes(59)) << "it counts no denials";
  clock_.advance(minutes(59));
  EXPECT_FALSE(ask(rude_).limited);
  ASSERT_TRUE(limiter_->reset(rude_, Forget::kBlock).ok());
  EXPECT_FALSE(ask(rude_).limited);
  EXPECT_EQ(ask(rude_).retry_after, seconds(5)) << "the first of three again";
}

TEST_P(BlocksTest, CountDenialsByAnyAlgorithm) {
  const Names login = {"login", "alex"};
  EXPECT_FALSE(ask(login).limited);
  EXPECT_EQ(ask(login).retry_after, minutes(1));
  clock_.advance(seconds(30));
  EXPECT_EQ(ask(login).retry_after, hours(1) - seconds(30));
  clock_.advance(minutes(1));
  EXPECT_EQ(ask(login).retry_after, hours(1) - seconds(90));
  EXPECT_EQ(reports_[0].verdict.remaining, 1) << "and nothing was charged";
  clock_.advance(hours(1));
  EXPECT_FALSE(ask(login).limited);
}

TEST(Blocks, FailWithTheirStore) {
  for (const std::string policy : {"allow", "deny", "local", "raise"}) {
    Options options;
    ASSERT_TRUE(set_option("store", "redis://127.0.0.1:1", &options).ok());
    ASSERT_TRUE(set_option("timeout", "30s", &options).ok());
    ASSERT_TRUE(set_option("on_store_error", policy, &options).ok());
    Limiter limiter(std::make_shared<const Tree>(loaded(kYaml)), options,
                    std::move(make_store(options).value()));
    EXPECT_EQ(limiter.block(Names{"user", "alex"}, hours(1)).code(),
              Code::kStoreUnavailable)
        << policy;
  }
}

TEST(Blocks, AreChecked) {
  const auto mistake = [](const std::string& limits) {
    return load_tree("schema: {a: {limits: " + limits + "}}", "t")
        .status()
        .message();
  };
  EXPECT_EQ(mistake("{block: yes}"), "t:1:30: block must be true, is \"yes\"");
  EXPECT_EQ(mistake("{block: true, count: 1}"),
            "t:1:22: block: true takes no other key but name");
  EXPECT_EQ(mistake("[{block: true}, {block: true, name: b}]"),
            "t:1:38: a second block in one node");
  EXPECT_EQ(mistake("{count: 1, period: 1s, charge: denials, mode: check}"),
            "t:1:22: charge: denials and mode: check exclude each other");
  EXPECT_EQ(mistake("{count: 1, period: 1s, charge: denials, unit: b}"),
            "t:1:22: charge: denials and unit exclude each other");
  EXPECT_EQ(load_tree("schema: {a: {limits: 1/s, charge: denials}}", "t")
                .status()
                .message(),
            "t:1:35: unknown charge \"denials\", known are: all_or_nothing, "
            "independent");
}

TEST(RetrySpreadTest, LiesEvenlyWithinTheSpread) {
  RetrySpread spread(seconds(10));
  std::vector<int> counts(10);
  for (int i = 0; i < 1000; ++i) {
    Decision decision;
    decision.limited = true;
    decision.retry_after = decision.next_after = seconds(3);
    spread.apply(&decision);
    EXPECT_EQ(decision.next_after, seconds(3));
    const auto more = decision.retry_after - seconds(3);
    ASSERT_LT(more, seconds(10));
    ++counts[static_cast<std::size_t>(more / seconds(1))];
  }
  for (const int count : counts) EXPECT_NEAR(count, 100, 3);
  Decision never;
  never.limited = true;
  never.retry_after = kNever;
  spread.apply(&never);
  EXPECT_EQ(never.retry_after, kNever);
  Decision allowed;
  spread.apply(&allowed);
  EXPECT_EQ(allowed.retry_after, kNotLimited);
}

}  // namespace
}  // namespace limitree::blocks_test
