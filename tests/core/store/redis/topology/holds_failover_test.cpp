// Reservations whose primary is gone before they are settled: what a replica
// had counts on, and what it had not is forgotten.

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/store/redis/await.hpp"
#include "core/store/redis/topology/cluster_fixture.hpp"
#include "core/store/redis/topology/sentinel_fixture.hpp"
#include "core/tree/loaded.hpp"
#include "limiter/limiter.hpp"
#include "limiter/make_store.hpp"

namespace limitree::redis::holds_failover_test {
namespace {

constexpr std::string_view kYaml = R"(
schema:
  job:
    children:
      "*":
        limits:
          - {name: tpm, count: 1000, period: 100d, unit: tokens, hold: 20h}
          - {name: slots, concurrent: 2, hold: 20h}
)";
using Numbers = std::vector<std::int64_t>;

class Caller {
 public:
  explicit Caller(const std::string& url) {
    Options options;
    for (const auto& [name, value] :
         {std::pair<const char*, std::string>{"store", url},
          {"timeout", "10s"}}) {
      EXPECT_TRUE(set_option(name, value, &options).ok());
    }
    limiter_ = std::make_unique<Limiter>(
        std::make_shared<const Tree>(loaded(kYaml)), options,
        std::move(make_store(options).value()));
  }

  HoldId new_id() { return limiter_->new_hold_id(); }

  bool decide(Operation operation, const std::vector<std::string_view>& names,
              std::int64_t requests, std::int64_t tokens, HoldId id = {}) {
    std::vector<std::array<std::string_view, 2>> paths;
    for (const std::string_view name : names) paths.push_back({"job", name});
    std::vector<PathCost> costs;
    for (const auto& path : paths) costs.push_back({path, requests});
    const UnitCost unit{"tokens", tokens};
    decision = {};
    return limiter_
        ->decide(operation, {costs, {&unit, 1}, {id}}, &reports_, &decision)
        .ok();
  }
  Numbers left(std::string_view name) {
    Numbers all;
    if (!decide(Operation::kLook, {name}, 0, 0)) return all;
    for (const LevelReport& level : reports_) {
      all.push_back(level.verdict.remaining);
    }
    return all;
  }
  void await_store() {
    await("the store", [&] { return !left("somebody").empty(); });
  }

  Decision decision;

 private:
  std::unique_ptr<Limiter> limiter_;
  LevelReports reports_;
};

TEST(HoldsFailover, WhatAReplicaHadCountsOn) {
  SentinelFixture fixture;
  Caller caller(fixture.url());
  caller.await_store();
  // All replicas have this.
  const HoldId known = caller.new_id();
  ASSERT_TRUE(caller.decide(Operation::kReserve, {"a"}, 1, 400, known));
  await("the replicas", [&] {
    return fixture.server(1).cli({"DBSIZE"}) == "1" &&
           fixture.server(2).cli({"DBSIZE"}) == "1";
  });
  // No replica has what comes while they are down.
  for (const int replica : {1, 2}) {
    EXPECT_EQ(fixture.server(replica).cli({"SAVE"}), "OK");
    fixture.server(replica).kill();
  }
  const HoldId unknown = caller.new_id();
  ASSERT_TRUE(caller.decide(Operation::kReserve, {"b"}, 1, 400, unknown));
  ASSERT_TRUE(caller.decide(Operation::kReserve, {"a"}, 1, 300, unknown));
  EXPECT_EQ(caller.left("a"), Numbers({300, 0}));
  fixture.server(0).kill();
  fixture.server(1).start();
  fixture.server(2).start();
  fixture.await_primary(0);
  caller.await_store();

  EXPECT_EQ(caller.left("a"), Numbers({600, 1}));
  EXPECT_EQ(caller.left("b"), Numbers({1000, 2}));
  ASSERT_TRUE(caller.decide(Operation::kSettle, {"a"}, kAsHeld, 81, unknown));
  EXPECT_EQ(caller.decision.held, 0);
  ASSERT_TRUE(caller.decide(Operation::kSettle, {"b"}, kAsHeld, 81, unknown));
  EXPECT_EQ(caller.decision.held, 0);
  ASSERT_TRUE(caller.decide(Operation::kSettle, {"a"}, kAsHeld, 81, known));
  EXPECT_EQ(caller.decision.held, 2);
  EXPECT_EQ(caller.left("a"), Numbers({919, 2}));
}

// The primary that is asked last is gone: what was held by the others before is
// given back.
TEST(HoldsFailover, OneOfSeveralPrimariesIsGone) {
  // The others go on.
  ClusterFixture fixture({"cluster-require-full-coverage no"});
  Caller caller(fixture.url());
  caller.await_store();
  const auto keys_of_last = [&] { return fixture.node(2).cli({"DBSIZE"}); };
  std::vector<std::string_view> others;
  std::string_view of_last;
  for (const std::string_view name : {"a", "b", "c", "d", "e", "f"}) {
    const std::string before = keys_of_last();
    const HoldId id = caller.new_id();
    ASSERT_TRUE(caller.decide(Operation::kReserve, {name}, 1, 400, id));
    const bool is_new = keys_of_last() != before;
    if (is_new) of_last = name;
    if (!is_new) others.push_back(name);
    ASSERT_TRUE(caller.decide(Operation::kSettle, {name}, kAsHeld, 0, id));
  }
  ASSERT_FALSE(of_last.empty());
  ASSERT_FALSE(others.empty());
  fixture.node(2).kill();
  std::vector<std::string_view> all = others;
  all.push_back(of_last);
  int failed = 0;
  await("a replica", [&] {
    const HoldId id = caller.new_id();
    if (caller.decide(Operation::kReserve, all, 1, 400, id)) {
      EXPECT_EQ(caller.decision.held, static_cast<int>(2 * all.size()));
      return caller.decide(Operation::kSettle, all, kAsHeld, 0, id);
    }
    ++failed;
    for (const std::string_view name : others) {
      EXPECT_EQ(caller.left(name), Numbers({1000, 2})) << name;
    }
    return testing::Test::HasFailure();
  });
  EXPECT_GT(failed, 0);
}

// Names whose slots belong to three primaries, of which one denies.
TEST(HoldsFailover, ACallOverSeveralSlots) {
  ClusterFixture fixture;
  Caller caller(fixture.url());
  caller.await_store();
  const std::vector<std::string_view> names = {"a", "b", "c", "d", "e"};
  const HoldId one = caller.new_id();
  const HoldId two = caller.new_id();
  const HoldId third = caller.new_id();
  ASSERT_TRUE(caller.decide(Operation::kReserve, names, 1, 400, one));
  EXPECT_EQ(caller.decision.held, 10);
  for (const std::string_view name : names) {
    EXPECT_EQ(caller.left(name), Numbers({600, 1})) << name;
  }
  // Whichever of them is asked last: a denial leaves nothing in the others.
  for (const std::string_view name : names) {
    ASSERT_TRUE(caller.decide(Operation::kReserve, {name}, 1, 500, two));
    ASSERT_TRUE(caller.decide(Operation::kReserve, names, 1, 200, third));
    EXPECT_TRUE(caller.decision.limited);
    EXPECT_EQ(caller.decision.held, 0);
    for (const std::string_view other : names) {
      EXPECT_EQ(caller.left(other),
                other == name ? Numbers({100, 0}) : Numbers({600, 1}));
    }
    ASSERT_TRUE(caller.decide(Operation::kSettle, names, kAsHeld, 0, third));
    EXPECT_EQ(caller.decision.held, 0);
    ASSERT_TRUE(caller.decide(Operation::kSettle, {name}, kAsHeld, 0, two));
    EXPECT_EQ(caller.decision.held, 2);
  }
  ASSERT_TRUE(caller.decide(Operation::kSettle, names, kAsHeld, 81, one));
  EXPECT_EQ(caller.decision.held, 10);
  for (const std::string_view name : names) {
    EXPECT_EQ(caller.left(name), Numbers({919, 2})) << name;
  }
  ASSERT_TRUE(caller.decide(Operation::kSettle, names, kAsHeld, 81, one));
  EXPECT_EQ(caller.decision.held, 0);
}

}  // namespace
}  // namespace limitree::redis::holds_failover_test
