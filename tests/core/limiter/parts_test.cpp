// The parts of the paths of a request, in memory and in Redis: by hand, and for
// random traces against the arithmetic of Boulder.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/store/manual_clock.hpp"
#include "core/store/redis/redis_server.hpp"
#include "core/tree/loaded.hpp"
#include "limiter/limiter.hpp"
#include "limiter/make_store.hpp"

namespace limitree::parts_test {
namespace {

using redis::RedisServer;

constexpr std::string_view kYaml = R"(
schema:
  orders: {children: {"*": {limits: {burst: 5, count: 7, period: 10m}}}}
  domain: {children: {"*": {limits: {burst: 3, count: 3, period: 1h}}}}
  set: {children: {"*": {limits: {burst: 2, count: 5, period: 1h}}}}
  failed: {children: {"*": {limits: {burst: 4, count: 4, period: 5m}}}}
  window:
    children:
      "*": {limits: {count: 2, period: 1h, algorithm: sliding_log}}
  checked: {children: {"*": {limits: {count: 2, period: 1h, mode: check}}}}
  shadow: {children: {"*": {limits: {count: 2, period: 1h, mode: shadow}}}}
)";

class Parts : public testing::TestWithParam<const char*> {
 protected:
  static void SetUpTestSuite() { server_ = new RedisServer; }
  static void TearDownTestSuite() {
    delete server_;
    server_ = nullptr;
  }

  void SetUp() override {
    options_.clock = clock_.clock();
    const std::string test =
        std::string(GetParam()) + "-" +
        testing::UnitTest::GetInstance()->current_test_info()->name();
    const std::string_view store = GetParam();
    if (store != "memory") {
      const std::string url =
          "redis://127.0.0.1:" + std::to_string(server_->port());
      ASSERT_TRUE(set_option("store", url, &options_).ok());
      ASSERT_TRUE(set_option("timeout", "60s", &options_).ok());
      ASSERT_TRUE(set_option("prefix", test + ":", &options_).ok());
      const char* const cache = store == "cached" ? "on" : "off";
      ASSERT_TRUE(set_option("deny_cache", cache, &options_).ok());
    }
    limiter_ = std::make_unique<Limiter>(
        std::make_shared<const Tree>(loaded(kYaml)), options_,
        std::move(make_store(options_).value()));
  }

  struct Asked {
    std::string_view name;
    std::string_view id;
    std::int64_t cost;
    Part part;
  };

  const Decision& decide(const std::vector<Asked>& asked,
                         Operation operation = Operation::kAuthorize) {
    std::vector<std::array<std::string_view, 2>> paths;
    for (const Asked& one : asked) paths.push_back({one.name, one.id});
    std::vector<PathCost> path_costs;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      path_costs.push_back({paths[i], asked[i].cost, asked[i].part});
    }
    const Status status =
        limiter_->decide(operation, {path_costs}, &reports_, &decision_);
    EXPECT_TRUE(status.ok()) << status.error().messages[0];
    return decision_;
  }

  std::int64_t left(std::string_view name, std::string_view id = "a") {
    decide({{name, id, 0, Part::kCharge}}, Operation::kPeek);
    return reports_[0].verdict.remaining;
  }

  ManualClock clock_;
  Options options_;
  std::unique_ptr<Limiter> limiter_;
  LevelReports reports_;
  Decision decision_;

 private:
  static inline RedisServer* server_ = nullptr;
};

TEST_P(Parts, CheckCountsAndChargesNothing) {
  for (const std::string_view name : {"set", "window"}) {
    EXPECT_FALSE(decide({{name, "a", 2, Part::kCheck}}).limited) << name;
    EXPECT_EQ(reports_[0].mode, Mode::kCheck);
    EXPECT_FALSE(reports_[0].verdict.charged);
    EXPECT_EQ(left(name), 2) << name;
    decide({{name, "a", 2, Part::kCharge}});
    EXPECT_TRUE(decide({{name, "a", 1, Part::kCheck},
                        {"orders", name, 1, Part::kCharge}})
                    .limited);
    EXPECT_EQ(left("orders", name), 5) << "a denied request has charged";
  }
}

TEST_P(Parts, SpendIfFitsNeverDenies) {
  for (const std::string_view name : {"set", "window"}) {
    EXPECT_FALSE(decide({{name, "a", 1, Part::kSpendIfFits}}).limited) << name;
    EXPECT_EQ(reports_[0].mode, Mode::kShadow);
    EXPECT_TRUE(reports_[0].verdict.charged);
    EXPECT_EQ(left(name), 1) << name;
    EXPECT_FALSE(decide({{"orders", name, 1, Part::kCharge},
                         {name, "a", 2, Part::kSpendIfFits}})
                     .limited);
    EXPECT_TRUE(decision_.shadowed);
    EXPECT_EQ(left(name), 1) << "what does not fit is charged";
    EXPECT_EQ(left("orders", name), 4);
    EXPECT_TRUE(decide({{"orders", name, 5, Part::kCharge},
                        {name, "a", 1, Part::kSpendIfFits}})
                    .limited);
    EXPECT_EQ(left(name), 1) << "a denied request has charged";
  }
}

// A bucket counts if it counts for one path, and is charged if it is for one.
TEST_P(Parts, OfOneBucketAreJoined) {
  EXPECT_FALSE(decide({{"set", "a", 1, Part::kCheck},
                       {"set", "a", 1, Part::kSpendIfFits}})
                   .limited);
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_EQ(reports_[0].mode, Mode::kEnforce);
  EXPECT_EQ(left("set"), 1);
  EXPECT_TRUE(decide({{"set", "a", 2, Part::kSpendIfFits},
                      {"set", "a", 1, Part::kCheck}})
                  .limited);
  EXPECT_FALSE(
      decide({{"set", "a", 1, Part::kCharge}, {"set", "a", 1, Part::kCheck}})
          .limited);
  EXPECT_EQ(left("set"), 0);
}

// A part reduces what the mode of the limit does, and adds nothing.
TEST_P(Parts, StayWithinTheModeOfTheLimit) {
  decide({{"checked", "a", 2, Part::kSpendIfFits},
          {"shadow", "a", 2, Part::kCheck}});
  for (const LevelReport& report : reports_) {
    EXPECT_EQ(report.mode, Mode::kShadow);
    EXPECT_FALSE(report.verdict.charged);
  }
  EXPECT_FALSE(decide({{"checked", "a", 3, Part::kSpendIfFits},
                       {"shadow", "a", 3, Part::kCheck}})
                   .limited);
  EXPECT_TRUE(decide({{"checked", "a", 3, Part::kCharge}}).limited);
  EXPECT_EQ(left("shadow"), 2);
}

TEST_P(Parts, HoldForTheOtherOperations) {
  const std::vector<Asked> all = {{"set", "a", 2, Part::kCharge},
                                  {"domain", "a", 2, Part::kCheck},
                                  {"failed", "a", 2, Part::kSpendIfFits}};
  EXPECT_FALSE(decide(all, Operation::kPeek).limited);
  EXPECT_EQ(left("set"), 2);
  decide(all, Operation::kSpend);
  EXPECT_EQ(left("set"), 0);
  EXPECT_EQ(left("domain"), 3);
  EXPECT_EQ(left("failed"), 2);
  EXPECT_TRUE(decide(all).limited);
  decide(all, Operation::kRefund);
  EXPECT_EQ(left("set"), 2);
  EXPECT_EQ(left("failed"), 4);
}

// ---- Boulder ----------------------------------------------------------------
//
// The rules of its package `ratelimits`, in words of our own.  A transaction is
// charged to the later of its bucket's TAT and now; it is allowed if the bucket
// is not overdrawn then.  A batch is denied if a transaction is that is not
// spend-only; else those that are allowed are stored, but for check-only ones.

struct Rule {
  std::int64_t interval;
  std::int64_t burst;
};

const std::map<std::string_view, Rule> kRules = {
    {"orders", {600'000'000'000 / 7, 5}},
    {"domain", {1'200'000'000'000, 3}},
    {"set", {720'000'000'000, 2}},
    {"failed", {75'000'000'000, 4}}};

struct Transaction {
  std::string_view name;
  std::string_view id;
  std::int64_t cost;
  bool check;
  bool spend;
};

class Boulder {
 public:
  struct Outcome {
    bool allowed = true;
    std::int64_t retry_in = 0;
  };

  Outcome spend(const std::vector<Transaction>& batch, std::int64_t now) {
    Outcome outcome;
    std::map<std::string, std::int64_t> changed;
    for (const Transaction& one : batch) {
      const Rule rule = kRules.at(one.name);
      const std::int64_t tat = tat_of(one, now);
      const std::int64_t next = tat + rule.interval * one.cost;
      const std::int64_t room = now - (next - rule.interval * rule.burst);
      if (room >= 0 && one.spend) changed[key(one)] = next;
      if (room < 0 && one.check) {
        outcome.allowed = false;
        outcome.retry_in = std::max(outcome.retry_in, -room);
      }
    }
    if (outcome.allowed) {
      for (const auto& [name, tat] : changed) tats_[name] = tat;
    }
    return outcome;
  }

  void refund(const std::vector<Transaction>& batch, std::int64_t now) {
    for (const Transaction& one : batch) {
      if (!one.spend || tat_of(one, now) == now) continue;
      const std::int64_t less = kRules.at(one.name).interval * one.cost;
      tats_[key(one)] = std::max(tat_of(one, now) - less, now);
    }
  }

  // How long it takes until the bucket is full.
  std::int64_t reset_in(const Transaction& one, std::int64_t now) const {
    return tat_of(one, now) - now;
  }

 private:
  static std::string key(const Transaction& one) {
    return std::string(one.name) + ":" + std::string(one.id);
  }
  std::int64_t tat_of(const Transaction& one, std::int64_t now) const {
    const auto found = tats_.find(key(one));
    return found == tats_.end() ? now : std::max(now, found->second);
  }

  std::map<std::string, std::int64_t> tats_;
};

Part part_of(const Transaction& one) {
  if (!one.check) return Part::kSpendIfFits;
  return one.spend ? Part::kCharge : Part::kCheck;
}

TEST_P(Parts, DecideAsBoulderDoes) {
  std::mt19937 random(4711);
  const auto below = [&random](int end) {
    return std::uniform_int_distribution<int>(0, end - 1)(random);
  };
  std::vector<Transaction> buckets;
  for (const auto& [name, rule] : kRules) {
    for (const std::string_view id : {"1", "2", "3"}) {
      buckets.push_back({name, id, 0, true, true});
    }
  }
  Boulder boulder;
  int allowed = 0;
  int denied = 0;
  for (int step = 0; step < 600; ++step) {
    clock_.advance(std::chrono::nanoseconds(std::int64_t{below(1'000'000'000)} *
                                            below(150)));
    const std::int64_t now = clock_.now().time_since_epoch().count();
    std::shuffle(buckets.begin(), buckets.end(), random);
    std::vector<Transaction> batch(buckets.begin(),
                                   buckets.begin() + 1 + below(6));
    std::vector<Asked> asked;
    for (Transaction& one : batch) {
      const int kind = below(3);
      one.check = kind != 0;
      one.spend = kind != 1;
      const auto burst = static_cast<int>(kRules.at(one.name).burst);
      one.cost = 1 + below(below(3) == 0 ? burst : 1);
      asked.push_back({one.name, one.id, one.cost, part_of(one)});
    }
    if (below(6) == 0) {
      boulder.refund(batch, now);
      decide(asked, Operation::kRefund);
    } else {
      const Boulder::Outcome expected = boulder.spend(batch, now);
      decide(asked);
      ASSERT_EQ(decision_.limited, !expected.allowed) << "step " << step;
      // The cache may know only one of the buckets that deny.
      if (decision_.source == Source::kDenyCache) {
        ASSERT_LE(decision_.retry_after.count(), expected.retry_in) << step;
      } else if (!expected.allowed) {
        ASSERT_EQ(decision_.retry_after.count(), expected.retry_in) << step;
      }
      ++(expected.allowed ? allowed : denied);
    }
    asked.clear();
    for (const Transaction& one : buckets) {
      asked.push_back({one.name, one.id, 0, Part::kCharge});
    }
    decide(asked, Operation::kPeek);
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      ASSERT_EQ(reports_[i].verdict.reset_after.count(),
                boulder.reset_in(buckets[i], now))
          << "step " << step << ", " << buckets[i].name << buckets[i].id;
    }
  }
  EXPECT_GT(allowed, 100);
  EXPECT_GT(denied, 100);
}

INSTANTIATE_TEST_SUITE_P(Stores, Parts,
                         testing::Values("memory", "redis", "cached"),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace limitree::parts_test
